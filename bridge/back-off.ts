import { setTimeout as sleep } from "node:timers/promises";

/** The clock, the waits and the dice of the kit: the real ones, unless a test says otherwise. */
export interface Timing {
  /** ms since the epoch. */
  now(): number;
  /** Waits; ends early, without an error, when the signal is aborted. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
  /** From 0 up to, but not, 1. */
  random(): number;
}

/** The longest that a timer of Node waits; of more it makes 1 ms. */
export const TIMER_MOST_MS = 2 ** 31 - 1;

export const REAL_TIMING: Timing = {
  now: Date.now,
  random: Math.random,
  async pause(ms, signal) {
    let leftMs = ms;
    do {
      // Only an abort ends it with an error.
      await sleep(Math.min(leftMs, TIMER_MOST_MS), undefined, { signal }).catch(() => undefined);
      leftMs -= TIMER_MOST_MS;
    } while (leftMs > 0 && !signal.aborted);
  },
};

/**
 * How long to wait after a number of failures in a row, 1 for the first: it doubles up to a bound, and up to
 * half as much again is added at random, so that bridges that failed together do not come back together.
 */
export function backOffMs(
  failures: number,
  { firstMs, mostMs }: { readonly firstMs: number; readonly mostMs: number },
  random: number,
): number {
  const plain = Math.min(mostMs, firstMs * 2 ** (failures - 1));
  return Math.round(plain * (1 + random / 2));
}

/** The `Retry-After` of an answer in ms, 0 where it has none in whole seconds. */
export function retryAfterMs(header: string | null): number {
  return header !== null && /^[0-9]+$/.test(header) ? Number(header) * 1000 : 0;
}
