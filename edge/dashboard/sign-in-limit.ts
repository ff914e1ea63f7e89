import { LRUCache } from "lru-cache";
import { networkOf } from "../../runtime/limit-connections";

export type SignInLimit = ReturnType<typeof createSignInLimit>;

/** Maximum number of failed sign-in attempts per minute from one address. Attempts in progress count as failed. */
const FAILED_MAX = 10;
/**
 * Maximum number of successful sign-ins and new sign-in links per minute, for an address and for the name of a token.
 * Each new session or link can end an older one of the same token.
 */
const ACCEPTED_MAX = 240;
/**
 * Maximum number of requests per minute from one address whose cookie does not belong to a session. Each of these
 * requests needs a call to core.
 */
const UNKNOWN_MAX = 120;
const WINDOW_MS = 60_000;
/**
 * Maximum number of addresses or token names in each table of counts. Above this maximum, the least recently seen entry
 * is dropped, so its address or token name can make more attempts.
 */
const PLACES_MAX = 10_000;

/**
 * Limits the sign-in attempts per minute, so that tokens cannot be guessed quickly (brute force). Nobody is locked out.
 */
export function createSignInLimit(now: () => number = Date.now) {
  const failed = createCounts(FAILED_MAX, now);
  const accepted = createCounts(ACCEPTED_MAX, now);
  const acceptedOfToken = createCounts(ACCEPTED_MAX, now);
  const unknown = createCounts(UNKNOWN_MAX, now);
  return {
    /** Counts an attempt as failed. Returns the seconds to wait when the limit is exceeded; undefined otherwise. */
    refuse: (address: string): number | undefined => failed.add(networkOf(address)),
    /**
     * Counts an attempt with a correct token as accepted, and no longer as failed. Earlier failed attempts of the
     * address stay counted, so a correct token does not allow further guesses. If there are too many accepted attempts,
     * returns the seconds to wait, and the attempt still counts as failed.
     */
    accept(address: string, tokenName: string): number | undefined {
      const place = networkOf(address);
      const wait = accepted.waitOf(place) ?? acceptedOfToken.waitOf(tokenName);
      if (wait !== undefined) return wait;
      accepted.add(place);
      acceptedOfToken.add(tokenName);
      failed.takeBack(place);
      return undefined;
    },
    /**
     * Counts a lookup of a session as unsuccessful. Returns the seconds to wait when the limit is exceeded; undefined
     * otherwise.
     */
    lookUp: (address: string): number | undefined => unknown.add(networkOf(address)),
    /** Counts a lookup as successful. */
    found: (address: string): void => unknown.takeBack(networkOf(address)),
  };
}

/** Counts per key and minute. */
function createCounts(max: number, now: () => number) {
  const counts = new LRUCache<string, { count: number; readonly until: number }>({ max: PLACES_MAX });
  const current = (key: string) => {
    const kept = counts.get(key);
    return kept !== undefined && kept.until > now() ? kept : { count: 0, until: now() + WINDOW_MS };
  };
  const waitFor = (until: number) => Math.ceil((until - now()) / 1_000);
  return {
    /** Returns the seconds until one more attempt is allowed; undefined when it is allowed now. */
    waitOf(key: string): number | undefined {
      const { count, until } = current(key);
      return count >= max ? waitFor(until) : undefined;
    },
    /** Adds one. Returns the seconds to wait when the count is now above the maximum; undefined otherwise. */
    add(key: string): number | undefined {
      const kept = current(key);
      counts.set(key, kept);
      kept.count += 1;
      return kept.count > max ? waitFor(kept.until) : undefined;
    },
    /** Undoes one call of `add`. */
    takeBack(key: string): void {
      const kept = counts.get(key);
      if (kept !== undefined && kept.count > 0) kept.count -= 1;
    },
  };
}
