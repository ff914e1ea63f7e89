import { createBatch } from "./batch";
import type { FunctionName, Functions } from "./functions";
import type { Keys } from "./keys";
import type { Argument, Reply } from "./redis";

/** A function that is called for many items at once. */
export interface BatchedFunction<Item, Output> {
  readonly name: FunctionName;
  /** Items of one call. */
  readonly most: number;
  /** The arguments for items of one shard. */
  toArguments(items: readonly Item[]): readonly Argument[];
  /** Their bodies, as in ShardCall. */
  toBodies?(items: readonly Item[]): readonly Argument[];
  /** What the function answered for items of one shard: an output for each, in their order. */
  toOutputs(reply: Reply, items: readonly Item[]): readonly Output[];
}

/** Calls a function for items that come one by one, in batches. */
export function batchFunction<Item, Output>(
  functions: Functions,
  keys: Keys,
  { name, most, toArguments, toBodies, toOutputs }: BatchedFunction<Item, Output>,
): (shard: number, item: Item) => Promise<Output> {
  return createBatch<Item, Output>({
    most,
    spansShards: functions.spansShards,
    async run(shards) {
      const calls = shards.map(({ shard, items }) => ({
        prefix: keys.prefix(shard),
        args: toArguments(items),
        bodies: toBodies?.(items) ?? [],
      }));
      const count = shards.reduce((sum, { items }) => sum + items.length, 0);
      const replies = await functions.callEach(name, calls, count);
      return shards.map(({ items }, i) => toOutputs(replies[i], items));
    },
  });
}
