import { StoreUnavailable } from "../../core/ports/store-faults";
import * as fc from "fast-check";
import { createBatch, type ShardItems } from "../../core/store/batch";

/** Returns the function that adds an item to a batch. `run` gets the items of each shard separately. */
function batchOf<Item, Output>(
  run: (shard: number, items: readonly Item[]) => Promise<readonly Output[]>,
  { most = 10, spansShards = false } = {},
) {
  const { one } = createBatch<Item, Output>({
    most,
    spansShards,
    run: (shards) => Promise.all(shards.map(({ shard, items }) => run(shard, items))),
  });
  return one;
}

/** Returns the number of calls that are made if each call contains as many items as fit. */
function countCalls(weights: readonly number[], most: number): number {
  let [calls, room] = [0, 0];
  for (const weight of weights) {
    if (weight > room || room === 0) [calls, room] = [calls + 1, most];
    room = Math.max(0, room - weight);
  }
  return calls;
}

test.each([false, true])(
  "every call gets its own output, in batches of bounded weight (batches span shards: %s)",
  async (spansShards) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 10 }),
        fc.option(fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 60, maxLength: 60 })),
        async (shards, most, weights) => {
          const runs: (readonly ShardItems<number>[])[] = [];
          const weightOf = (item: number): number => weights?.[item] ?? 1;
          const { one: batch } = createBatch<number, string>({
            most,
            ...(weights !== null && { weigh: weightOf }),
            spansShards,
            async run(calls) {
              runs.push(calls);
              return calls.map(({ shard, items }) => items.map((item) => `${shard}/${item}`));
            },
          });
          const outputs = await Promise.all(shards.map((shard, item) => batch(shard, item)));
          expect(outputs).toEqual(shards.map((shard, item) => `${shard}/${item}`));
          for (const calls of runs) {
            const items = calls.flatMap((call) => call.items);
            const weight = items.reduce((sum, item) => sum + weightOf(item), 0);
            expect(items.length === 1 || weight <= most).toBe(true);
            expect(new Set(calls.map(({ shard }) => shard)).size).toBe(spansShards ? calls.length : 1);
          }
          const all = [...shards.keys()];
          const ofEach = [...new Set(shards)].map((shard) => all.filter((item) => shards[item] === shard));
          const expected = (spansShards ? [all] : ofEach).map((items) =>
            countCalls(items.map(weightOf), most),
          );
          expect(runs).toHaveLength(expected.reduce((sum, count) => sum + count, 0));
          for (const shard of new Set(shards)) {
            const ofShard = runs.flat().filter((call) => call.shard === shard);
            const asked = shards.flatMap((of, item) => (of === shard ? [item] : []));
            expect(ofShard.flatMap(({ items }) => items)).toEqual(asked);
          }
        },
      ),
    );
  },
);

test("an error fails only the calls of its own batch", async () => {
  const batch = batchOf<number, number>(
    async (shard, items) => {
      if (items.includes(2)) throw new Error("the batch failed");
      return items.map((item) => item * 10 + shard);
    },
    { most: 2 },
  );
  const answers = await Promise.allSettled([0, 1, 2, 3, 4].map((item) => batch(7, item)));
  const reason = new Error("the batch failed");
  const outcomes = answers.map((each): unknown => ("value" in each ? each.value : each.reason));
  expect(outcomes).toEqual([7, 17, reason, reason, 47]);
  expect(await batch(7, 5)).toBe(57);
});

test("calls made during a batch form the next batch, and calls for other shards do not wait", async () => {
  const runs: (readonly [number, readonly string[]])[] = [];
  const release: (() => void)[] = [];
  const batch = batchOf<string, string>(
    (shard, items) =>
      new Promise((resolve) => {
        runs.push([shard, items]);
        const answer = (): void => resolve(items);
        if (items.includes("slow")) release.push(answer);
        else answer();
      }),
  );
  const slow = batch(0, "slow");
  // The slow batch starts in the next turn of the event loop.
  await new Promise(setImmediate);
  const behind = [batch(0, "one")];
  await new Promise(setImmediate);
  behind.push(batch(0, "two"));
  expect(await batch(1, "elsewhere")).toBe("elsewhere");
  expect(runs.flat(2)).toEqual([0, "slow", 1, "elsewhere"]);
  for (const answer of release) answer();
  expect(await Promise.all([slow, ...behind])).toEqual(["slow", "one", "two"]);
  expect(runs.at(-1)).toEqual([0, ["one", "two"]]);
});

test("when a batch fails because the store is unreachable, the calls that wait for the next batch fail too", async () => {
  let runs = 0;
  const batch = batchOf<string, string>(async () => {
    runs += 1;
    await new Promise(setImmediate);
    throw new StoreUnavailable("unreachable");
  });
  const first = batch(0, "first").catch((error: unknown) => error);
  await new Promise(setImmediate);
  const behind = batch(0, "behind").catch((error: unknown) => error);
  expect(await first).toBeInstanceOf(StoreUnavailable);
  expect(await behind).toBeInstanceOf(StoreUnavailable);
  expect(runs).toBe(1);
});

test("items that are added together get their outputs in order, across shards and batches; if one item fails, the whole call fails", async () => {
  const { all, one } = createBatch<number, number>({
    most: 3,
    spansShards: false,
    async run(shards) {
      return shards.map(({ items }) => {
        if (items.includes(-1)) throw new Error("a bug");
        return items.map((item) => item * 10);
      });
    },
  });
  const shardOf = (item: number): number => item % 4;
  const items = Array.from({ length: 30 }, (_, i) => (i * 7) % 30);
  const [outputs, single] = await Promise.all([all(items, shardOf), one(1, 100)]);
  expect([outputs, single]).toEqual([items.map((item) => item * 10), 1_000]);
  await expect(all([4, -1, 8], () => 0)).rejects.toThrow("a bug");
  expect(await all([], shardOf)).toEqual([]);
});
