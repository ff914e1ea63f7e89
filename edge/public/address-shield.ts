import { LRUCache } from "lru-cache";
import { ADDRESS_REQUESTS_PER_SECOND } from "../../contract/numbers";

export type AddressShield = ReturnType<typeof createAddressShield>;

const SECOND_MS = 1_000;
/** Addresses that are remembered, with up to 4 KB each. */
const ADDRESSES_MAX = 5_000;

/** Milliseconds until a request that was sent at `sentAt` is one second old. */
function waitMs(sentAt: number, now: number): number {
  return sentAt + SECOND_MS - now;
}

/** The times at which the last requests were sent, in the order of their answers. Once full, it begins at `at`. */
interface Ring {
  readonly times: number[];
  at: number;
}

/**
 * Refuses requests over the limit of their sending address (check 2) in the edge, so
 * that a flood from one address costs core nothing. All times are `performance.now()`.
 *
 * The shield refuses a request only when core has admitted the full limit of requests
 * of this edge within the last second. Core decides on all other requests. With very
 * many addresses the shield forgets some, which costs core calls but admits no more.
 */
export function createAddressShield() {
  const rings = new LRUCache<string, Ring>({ max: ADDRESSES_MAX });
  let refusals = 0;
  return {
    /** Requests refused so far. */
    get refusals() {
      return refusals;
    },
    /** Seconds until the address may retry, or undefined when core must decide. */
    refuse(address: string, now: number): number | undefined {
      const ring = rings.get(address);
      if (ring === undefined || ring.times.length < ADDRESS_REQUESTS_PER_SECOND) return undefined;
      if (waitMs(ring.times[ring.at] ?? 0, now) <= 0) return undefined;
      // Times are noted in the order of the answers, so the first is not always the oldest.
      const oldestWaitMs = waitMs(Math.min(...ring.times), now);
      if (oldestWaitMs <= 0) return undefined;
      refusals += 1;
      return Math.ceil(oldestWaitMs / SECOND_MS);
    },
    /** Notes that core admitted a request that was sent to it at `sentAt`. */
    admitted(address: string, sentAt: number): void {
      let ring = rings.get(address);
      if (ring === undefined) {
        ring = { times: [], at: 0 };
        rings.set(address, ring);
      }
      if (ring.times.length < ADDRESS_REQUESTS_PER_SECOND) {
        ring.times.push(sentAt);
        return;
      }
      ring.times[ring.at] = sentAt;
      ring.at = (ring.at + 1) % ADDRESS_REQUESTS_PER_SECOND;
    },
  };
}
