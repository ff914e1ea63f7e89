import * as fc from "fast-check";

/** Asserts that a property holds for 100 random values. */
export function forAll<Ts extends [unknown, ...unknown[]]>(
  ...property: [...{ [K in keyof Ts]: fc.Arbitrary<Ts[K]> }, (...values: Ts) => void]
): void {
  fc.assert(fc.property<Ts>(...property));
}

/** Asserts that a property holds for `many(numRuns)` random values. */
export function forMany<Ts extends [unknown, ...unknown[]]>(
  numRuns: number,
  ...property: [...{ [K in keyof Ts]: fc.Arbitrary<Ts[K]> }, (...values: Ts) => void]
): void {
  fc.assert(fc.property<Ts>(...property), { numRuns: many(numRuns) });
}

/**
 * Returns how many random values to try: `count`, divided by the environment variable FEWER if it is set.
 * `npm run check` sets FEWER for the test runs on other releases of Node.
 */
export const many = (count: number): number => Math.ceil(count / Number(process.env["FEWER"] ?? 1));

const SURROGATES_FROM = 0xd800;
const SURROGATES = 0x800;
const CODE_POINTS = 0x110000;
/** Strings of several code points, each displayed as one character. */
const COMPOSED = ["e\u0301", "👩‍👩‍👧", "🇵🇹", "👍🏽", "ष\u093F"];

/**
 * Any character; use it as the `unit` of `fc.string`. fast-check's own units "binary" and "grapheme" take half a second
 * of processor time in each file, because they list all characters.
 */
export const ANY_CHARACTER = fc.oneof(
  { weight: 9, arbitrary: fc.nat(CODE_POINTS - SURROGATES - 1).map(toCharacter) },
  { weight: 1, arbitrary: fc.constantFrom(...COMPOSED) },
);

function toCharacter(index: number): string {
  return String.fromCodePoint(index < SURROGATES_FROM ? index : index + SURROGATES);
}
