import ipaddr from "ipaddr.js";
import { LRUCache } from "lru-cache";

/** Slows down whoever guesses: so many attempts to sign in from one place within a minute. */
export interface SignInLimit {
  /** Counts an attempt; answers the seconds to wait when it is one too many. */
  refuse(address: string): number | undefined;
  /** Forgets the attempts of someone who got in. */
  forget(address: string): void;
}

const ATTEMPTS_MAX = 10;
const WINDOW_MS = 60_000;
/** What it forgets, of one place among very many, lets a few more attempts through. */
const PLACES_MAX = 10_000;

export function createSignInLimit(now: () => number = Date.now): SignInLimit {
  const places = new LRUCache<string, { count: number; readonly until: number }>({ max: PLACES_MAX });
  return {
    refuse(address) {
      const place = placeOf(address);
      const kept = places.get(place);
      const attempts =
        kept !== undefined && kept.until > now() ? kept : { count: 0, until: now() + WINDOW_MS };
      places.set(place, attempts);
      attempts.count++;
      return attempts.count > ATTEMPTS_MAX ? Math.ceil((attempts.until - now()) / 1_000) : undefined;
    },
    forget: (address) => void places.delete(placeOf(address)),
  };
}

/** Whoever has an IPv6 address has 2^64 of them. */
function placeOf(address: string): string {
  if (!ipaddr.IPv6.isValid(address)) return address;
  return ipaddr.IPv6.parse(address).toByteArray().slice(0, 8).join(".");
}
