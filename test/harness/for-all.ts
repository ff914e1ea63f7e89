import * as fc from "fast-check";

/** Asserts that a property holds for 100 random values. */
export function forAll<Ts extends [unknown, ...unknown[]]>(
  ...property: [...{ [K in keyof Ts]: fc.Arbitrary<Ts[K]> }, (...values: Ts) => void]
): void {
  fc.assert(fc.property<Ts>(...property));
}

/** Asserts that a property holds for `numRuns` random values. */
export function forMany<Ts extends [unknown, ...unknown[]]>(
  numRuns: number,
  ...property: [...{ [K in keyof Ts]: fc.Arbitrary<Ts[K]> }, (...values: Ts) => void]
): void {
  fc.assert(fc.property<Ts>(...property), { numRuns });
}
