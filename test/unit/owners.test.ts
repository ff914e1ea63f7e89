import * as fc from "fast-check";
import { ownersInTurn, ownersOf } from "../../core/leases/owners";
import { forAll } from "../harness/for-all";

const shardCounts = fc.integer({ min: 1, max: 64 });
const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 20 });
/** Returns the number of shards of each member, including members without a shard. */
function partsOf(members: readonly string[], owners: readonly string[]): readonly number[] {
  return members.map((name) => owners.filter((owner) => owner === name).length);
}

function movedBetween(before: readonly string[], after: readonly string[]): number {
  return before.filter((owner, shard) => owner !== after[shard]).length;
}

test.each([
  ["a hash", ownersOf],
  ["turns", ownersInTurn],
])(
  "with the rule of %s, each shard has one owner, and the members' shares differ by at most one shard",
  (_rule, rule) => {
    forAll(shardCounts, names, (shards, members) => {
      const owners = rule(shards, members);
      expect(owners).toHaveLength(shards);
      const parts = partsOf(members, owners);
      expect(parts.reduce((sum, part) => sum + part)).toBe(shards);
      expect(Math.max(...parts) - Math.min(...parts)).toBeLessThanOrEqual(1);
    });
  },
);

// Cores of all releases that use a rule must compute the same owners.
test("each rule gives the same owners in all releases", () => {
  expect(ownersInTurn(7, ["b", "c", "a"])).toEqual(["b", "c", "a", "b", "c", "a", "b"]);
  expect(ownersOf(16, ["a", "b", "c", "d", "e"]).join("")).toBe("adedebdbabebccca");
});

test("the owners do not depend on the order of the names", () => {
  forAll(
    shardCounts,
    names.chain((members) =>
      fc.tuple(fc.constant(members), fc.shuffledSubarray(members, { minLength: members.length })),
    ),
    (shards, [members, shuffled]) => {
      expect(ownersOf(shards, shuffled)).toEqual(ownersOf(shards, members));
    },
  );
});

/**
 * For each of 300 groups of `others` members, returns how many of 16 shards move when another member joins or leaves.
 */
function movesBeside(others: number): readonly number[] {
  return Array.from({ length: 300 }, (_, group) => {
    const members = Array.from({ length: others + 1 }, (__, i) => `${group}-${i}`);
    return movedBetween(ownersOf(16, members.slice(1)), ownersOf(16, members));
  });
}

test.each([1, 2, 3, 4, 5, 6, 7, 8, 11, 15])(
  "when a member joins or leaves %i others, only slightly more of 16 shards move than the member's share",
  (others) => {
    const share = Math.floor(16 / (others + 1));
    const moves = movesBeside(others);
    const mean = moves.reduce((sum, moved) => sum + moved) / moves.length;
    expect(Math.min(...moves)).toBeGreaterThanOrEqual(share);
    expect(mean).toBeLessThanOrEqual(share + 3);
    expect(Math.max(...moves)).toBeLessThanOrEqual(share + 10);
  },
);

test("when a member joins three or four others, 4 or 5 of 16 shards move on average", () => {
  const [toFour = 0, toFive = 0] = [3, 4].map((others) => {
    const moves = movesBeside(others);
    return moves.reduce((sum, moved) => sum + moved) / moves.length;
  });
  expect([Math.round(toFour), Math.round(toFive)]).toEqual([5, 4]);
});
