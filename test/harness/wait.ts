import { setTimeout as sleep } from "node:timers/promises";

/** So long that only a hang takes longer, however busy the machine is. */
export const HANG_MS = 60_000;

/** Waits until a condition holds; fails with `what` when it does not in time. */
export async function until<T>(
  what: string,
  condition: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = HANG_MS,
): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const found = await condition();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await sleep(10);
  }
}
