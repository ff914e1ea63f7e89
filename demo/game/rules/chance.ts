import { createHash } from "node:crypto";

/**
 * Shuffles a list in an order that depends only on the seed. The seed is derived
 * from the event that starts a game, so a redelivered event starts the same game.
 */
export function shuffled<T>(list: readonly T[], seed: string): readonly T[] {
  return list
    .map((item, i) => ({ item, rank: createHash("sha256").update(`${seed}/${i}`).digest("hex") }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ item }) => item);
}
