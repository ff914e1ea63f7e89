import { LRUCache } from "lru-cache";
import { networkOf } from "../../runtime/limit-connections";

export type SignInLimit = ReturnType<typeof createSignInLimit>;

const ATTEMPTS_MAX = 10;
const WINDOW_MS = 60_000;
/**
 * Maximum number of addresses whose attempts are counted. When there are more addresses, the least recently seen
 * address loses its count, and can make more attempts.
 */
const PLACES_MAX = 10_000;

/** Limits the sign-in attempts of each address per minute, so that tokens cannot be guessed quickly. */
export function createSignInLimit(now: () => number = Date.now) {
  const places = new LRUCache<string, { count: number; readonly until: number }>({ max: PLACES_MAX });
  return {
    /** Counts an attempt. Returns the seconds to wait when the limit is exceeded; undefined otherwise. */
    refuse(address: string): number | undefined {
      const place = networkOf(address);
      const kept = places.get(place);
      const attempts =
        kept !== undefined && kept.until > now() ? kept : { count: 0, until: now() + WINDOW_MS };
      places.set(place, attempts);
      attempts.count++;
      return attempts.count > ATTEMPTS_MAX ? Math.ceil((attempts.until - now()) / 1_000) : undefined;
    },
    /** Resets the count after a successful attempt. */
    forget: (address: string) => void places.delete(networkOf(address)),
  };
}
