import type { Measure } from "../rounds";

/** Events of one call or pipeline, and calls or pipelines under way at once. */
export const BATCH = 100;
export const IN_FLIGHT = 8;

/** Makes batches of numbers for so long, several under way at once. */
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
