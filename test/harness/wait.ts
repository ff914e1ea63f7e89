import { setTimeout as sleep } from "node:timers/promises";

/** Waits until a condition holds; fails with `what` when it does not in time. */
export async function until<T>(
  what: string,
  condition: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = 20_000,
): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const found = await condition();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await sleep(10);
  }
}
