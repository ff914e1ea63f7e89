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
  /** How many it has refused. */
  readonly refusals: number;
  /** Notes that core let a request of the address through that was sent to it at `sentAt`. Times are performance.now(). */
  admitted(address: string, sentAt: number): void;
}

/** The contract's limit for one address. */
const LIMIT_PER_SECOND = 500;
const SECOND_MS = 1_000;
/** Each may hold up to 4 KB. */
const ADDRESSES_MAX = 5_000;

/** Until a request that was sent at a time is a whole second old. */
function waitMs(sentAt: number, now: number): number {
  return sentAt + SECOND_MS - now;
}

/** When the last requests were sent, in the order in which they were answered; from `at` on once it is full. */
interface Ring {
  readonly times: number[];
  at: number;
}

export function createAddressShield(): AddressShield {
  const rings = new LRUCache<string, Ring>({ max: ADDRESSES_MAX });
  let refusals = 0;
  return {
    get refusals() {
      return refusals;
    },
    refuse(address, now) {
      const ring = rings.get(address);
      if (ring === undefined || ring.times.length < LIMIT_PER_SECOND) return undefined;
      if (waitMs(ring.times[ring.at] ?? 0, now) <= 0) return undefined;
      // They are noted as they are answered: what was sent first may have been noted later.
      const oldestWaitMs = waitMs(Math.min(...ring.times), now);
      if (oldestWaitMs <= 0) return undefined;
      refusals += 1;
      return Math.ceil(oldestWaitMs / SECOND_MS);
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
