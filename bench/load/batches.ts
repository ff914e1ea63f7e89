import type { Measure } from "../rounds";

/** Events per call or pipeline, and calls or pipelines in flight. */
export const BATCH = 100;
export const IN_FLIGHT = 8;

/** Calls `make` with batches of consecutive numbers for `seconds`, with `IN_FLIGHT` calls at a time. */
export async function inBatches(
  seconds: number,
  make: (numbers: readonly number[]) => Promise<unknown>,
): Promise<Measure> {
  const fromMs = Date.now();
  const endMs = fromMs + seconds * 1000;
  let number = 0;
  let count = 0;
  const work = async (): Promise<void> => {
    while (Date.now() < endMs) {
      const numbers = Array.from({ length: BATCH }, () => number++);
      await make(numbers);
      count += BATCH;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  return { count, fromMs, toMs: Date.now() };
}
