import { createHash } from "node:crypto";

/**
 * Puts a list in an order that hangs on the seed alone. A game drawn from the id
 * of the event that began it is the same game when the event comes again.
 */
export function shuffled<T>(list: readonly T[], seed: string): readonly T[] {
  return list
    .map((item, i) => ({ item, rank: createHash("sha256").update(`${seed}/${i}`).digest("hex") }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ item }) => item);
}
