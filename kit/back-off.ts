import { setTimeout as sleep } from "node:timers/promises";

/** The kit's clock, timers and random numbers. Tests replace them. */
export interface Timing {
  /** Returns the time, ms since the epoch. */
  now(): number;
  /** Waits for `ms`. Resolves early, without an error, when the signal is aborted. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
  /** Returns a random number from 0 (included) to 1 (excluded). */
  random(): number;
}

/** Longest delay of a timer in Node, ms. Node treats a longer delay as 1 ms. */
export const TIMER_MOST_MS = 2 ** 31 - 1;

export const REAL_TIMING: Timing = {
  now: Date.now,
  random: Math.random,
  async pause(ms, signal) {
    let leftMs = ms;
    do {
      // `sleep` rejects only when it is aborted.
      await sleep(Math.min(leftMs, TIMER_MOST_MS), undefined, { signal }).catch(() => undefined);
      leftMs -= TIMER_MOST_MS;
    } while (leftMs > 0 && !signal.aborted);
  },
};

/**
 * Returns the milliseconds to wait after `failures` consecutive failures. The wait doubles with each failure, up to
 * `mostMs`. A random extra of 0 to 50 percent is then added, so that bridges do not all retry at the same time after a
 * common failure.
 */
export function backOffMs(
  failures: number,
  { firstMs, mostMs }: { readonly firstMs: number; readonly mostMs: number },
  random: number,
): number {
  const plain = Math.min(mostMs, firstMs * 2 ** (failures - 1));
  return Math.round(plain * (1 + random / 2));
}

/**
 * An HTTP date begins with the name of a day. The pattern is needed because `Date.parse` also reads numbers as dates,
 * e.g. "-1" and "1.5".
 */
const DATE_FORM = /^[A-Z][a-z]+,? /;

/**
 * Returns the wait that a `Retry-After` header asks for, in ms from `nowMs`. The value is a number of seconds or a date
 * (RFC 9110, section 10.2.3). A fraction of a second is accepted too. Returns 0 for a missing or invalid header, and
 * for a date that has passed. The result may be too long for one timer: `Timing.pause` splits it.
 */
export function retryAfterMs(header: string | null, nowMs: number): number {
  const text = header?.trim() ?? "";
  if (/^[0-9]+(?:\.[0-9]+)?$/.test(text)) return Math.ceil(Number(text) * 1000);
  if (!DATE_FORM.test(text)) return 0;
  // All HTTP dates are in GMT, but a date in the oldest format (asctime) does not say "GMT".
  const atMs = Date.parse(text.endsWith("GMT") ? text : `${text} GMT`);
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - nowMs);
}
