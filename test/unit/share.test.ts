import * as fc from "fast-check";
import { createShare } from "../../core/leases/share";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Returns a share that joins with `join`. An update of a shard in `hung` takes 10 s. */
function createTestShare(shards: number, join: () => Promise<readonly string[] | undefined>) {
  const mine = new Map<number, boolean>();
  const faults: unknown[] = [];
  const hung = new Set<number>();
  const updated: number[] = [];
  const share = createShare({
    shards,
    name: "me",
    join,
    async update(shard, isMine) {
      updated.push(shard);
      if (hung.has(shard)) await new Promise((resolve) => setTimeout(resolve, 10_000));
      mine.set(shard, isMine);
    },
    onFault: (error) => faults.push(error),
  });
  return { share, mine, faults, hung, updated };
}

test("every shard belongs to exactly one member, and the members' shares differ by at most one shard", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 9 }),
      async (shards, members) => {
        const names = Array.from({ length: members }, (_, i) => `m${i}`);
        const owners = Array.from({ length: shards }, () => 0);
        const parts = await Promise.all(
          names.map(async (_name, place) => {
            const alive = names.map((each, i) => (i === place ? "me" : each));
            const { share, mine } = createTestShare(shards, async () => alive);
            await share.beat();
            await share.idle();
            for (const [shard, isMine] of mine) owners[shard] = (owners[shard] ?? 0) + (isMine ? 1 : 0);
            return [...mine.values()].filter(Boolean).length;
          }),
        );
        expect(owners).toEqual(owners.map(() => 1));
        expect(Math.max(...parts) - Math.min(...parts)).toBeLessThanOrEqual(1);
      },
    ),
  );
});

test("seven shards are assigned to three members in turn, in the order of the members", async () => {
  for (const [place, part] of ["0 3 6", "1 4", "2 5"].entries()) {
    const alive = ["a", "b", "c"].map((name, i) => (i === place ? "me" : name));
    const { share, mine } = createTestShare(7, async () => alive);
    await share.beat();
    await share.idle();
    expect([...mine.keys()].filter((shard) => mine.get(shard)).join(" ")).toBe(part);
  }
});

test("while `join` fails, the last result of `join` is used", async () => {
  let isAway = false;
  const { share, mine, faults } = createTestShare(2, async () => {
    if (isAway) throw new Error("join failed");
    return ["me", "other"];
  });
  await share.beat();
  isAway = true;
  mine.clear();
  await share.beat();
  await share.idle();
  expect(Object.fromEntries(mine)).toEqual({ 0: true, 1: false });
  expect(faults).toEqual([new Error("join failed")]);
});

// time: controlled
test("neither a `join` that hangs nor a shard whose update hangs delays the other shards", async () => {
  let hangs = false;
  const { share, hung, updated } = createTestShare(3, () =>
    hangs ? new Promise(() => undefined) : Promise.resolve(["me"]),
  );
  await share.beat();
  await share.idle();
  hangs = true;
  hung.add(1);
  updated.length = 0;
  for (let beat = 0; beat < 3; beat++) {
    void share.beat();
    await jest.advanceTimersByTimeAsync(750);
  }
  expect(updated.toSorted((a, b) => a - b)).toEqual([0, 0, 0, 1, 2, 2, 2]);
});
