/** A source of random values: the same seed always gives the same values. */
export interface Random {
  /** Returns an integer from 0 to `below - 1`. */
  int(below: number): number;
  /** Returns true with a probability of 1 / `times`. */
  oneIn(times: number): boolean;
  pick<T>(values: readonly T[]): T;
}

/**
 * The seed of this run, from the environment variable SEED. Without SEED, all runs have the same seed, and so the same
 * result.
 */
export const SEED = Number(process.env["SEED"] ?? 1);

/** Creates a source of random values (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed | 0;
  function int(below: number): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  }
  return {
    int,
    oneIn: (times) => int(times) === 0,
    pick<T>(values: readonly T[]): T {
      return values[int(values.length)] as T;
    },
  };
}
