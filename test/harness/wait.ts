import { setTimeout as sleep } from "node:timers/promises";

/** Milliseconds after which a wait counts as a hang, even on a busy machine. */
export const HANG_MS = 60_000;

const PAUSE_MIN_MS = 10;
const PAUSE_MAX_MS = 100;

/**
 * Waits until a condition holds, and returns the value of the condition. After `withinMs`, throws an error that
 * names `what`.
 *
 * The pauses between the checks grow with the time that has passed. A check can be a request to a process under test,
 * so frequent checks would slow that process down.
 */
export async function until<T>(
  what: string,
  condition: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = HANG_MS,
): Promise<T> {
  const began = performance.now();
  for (;;) {
    const found = await condition();
    if (found !== undefined && found !== false) return found;
    const passedMs = performance.now() - began;
    if (passedMs > withinMs) throw new Error(`timed out after ${withinMs} ms, waiting for: ${what}`);
    await sleep(Math.min(PAUSE_MAX_MS, Math.max(PAUSE_MIN_MS, passedMs / 10)));
  }
}
