import { LRUCache } from "lru-cache";

/**
 * Refuses early what the shared limit of sending addresses must refuse too
 * (check 2), so that a flood from one address costs core nothing.
 *
 * It is exact in one direction: it refuses only when core itself let as many
 * requests of this edge through within the last second as the limit allows; all
 * else core decides. What it forgets, of one address among very many, costs core
 * a question and lets nothing more through.
 */
export interface AddressShield {
  /** Seconds until the address may try again, or undefined when core is to decide. */
  refuse(address: string, now: number): number | undefined;
  /** Notes that core let a request of the address through that was sent to it at `sentAt`. Times are performance.now(). */
  admitted(address: string, sentAt: number): void;
}

/** The contract's limit for one address. */
const LIMIT_PER_SECOND = 500;
const SECOND_MS = 1_000;
/** Each may hold up to 4 KB. */
const ADDRESSES_MAX = 5_000;

/** The last times, oldest first from `at` on once it is full. */
interface Ring {
  readonly times: number[];
  at: number;
}

export function createAddressShield(): AddressShield {
  const rings = new LRUCache<string, Ring>({ max: ADDRESSES_MAX });
  return {
    refuse(address, now) {
      const ring = rings.get(address);
      if (ring === undefined || ring.times.length < LIMIT_PER_SECOND) return undefined;
      const waitMs = (ring.times[ring.at] ?? 0) + SECOND_MS - now;
      return waitMs > 0 ? Math.ceil(waitMs / SECOND_MS) : undefined;
    },
    admitted(address, sentAt) {
      let ring = rings.get(address);
      if (ring === undefined) {
        ring = { times: [], at: 0 };
        rings.set(address, ring);
      }
      if (ring.times.length < LIMIT_PER_SECOND) {
        ring.times.push(sentAt);
        return;
      }
      ring.times[ring.at] = sentAt;
      ring.at = (ring.at + 1) % LIMIT_PER_SECOND;
    },
  };
}

/** No shield, for measuring with the limits lifted. */
export const NO_SHIELD: AddressShield = { refuse: () => undefined, admitted: () => undefined };
