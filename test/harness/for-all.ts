import * as fc from "fast-check";

/** Asserts that something holds for all values: for 100 random ones. */
export function forAll<Ts extends [unknown, ...unknown[]]>(
  ...property: [...{ [K in keyof Ts]: fc.Arbitrary<Ts[K]> }, (...values: Ts) => void]
): void {
  fc.assert(fc.property<Ts>(...property));
}

/** The same for another number of values. */
export function forMany<Ts extends [unknown, ...unknown[]]>(
  numRuns: number,
  ...property: [...{ [K in keyof Ts]: fc.Arbitrary<Ts[K]> }, (...values: Ts) => void]
): void {
  fc.assert(fc.property<Ts>(...property), { numRuns });
}
