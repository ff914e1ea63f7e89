import { setTimeout as sleep } from "node:timers/promises";

/** Milliseconds after which a wait counts as a hang, however busy the machine is. */
export const HANG_MS = 60_000;

/**
 * Waits until a condition holds, and returns the value of the condition. After `withinMs`, throws an error that
 * names `what`.
 */
export async function until<T>(
  what: string,
  condition: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = HANG_MS,
): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const found = await condition();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`timed out after ${withinMs} ms, waiting for: ${what}`);
    await sleep(10);
  }
}
