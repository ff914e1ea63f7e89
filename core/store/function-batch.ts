import { createBatch, type Batch } from "./batch";
import type { FunctionName, Functions } from "./functions";
import type { Keys } from "./keys";
import type { Argument, Reply } from "./redis/redis";

/** A function of the library that handles many items in one call. */
export interface BatchedFunction<Item, Output> {
  readonly name: FunctionName;
  /** Maximum weight of the items in one call. Without `weigh`, the weight of each item is 1. */
  readonly most: number;
  /** Returns the weight of the item: how much work it is for Redis, relative to a typical item. */
  weigh?(item: Item): number;
  /** Returns the arguments for the items of one shard. */
  toArguments(items: readonly Item[]): readonly Argument[];
  /** Returns the bodies for the items of one shard, as in `ShardCall`. */
  toBodies?(items: readonly Item[]): readonly Argument[];
  /** Converts the function's answer for one shard to one output per item, in the same order. */
  toOutputs(reply: Reply, items: readonly Item[]): readonly Output[];
  /** Called with the items of one shard if the call failed. Redis may have run the function. */
  onFault?(items: readonly Item[]): void;
}

/** Calls a function of the library in batches. */
export function batchFunction<Item, Output>(
  functions: Functions,
  keys: Keys,
  { name, most, weigh, toArguments, toBodies, toOutputs, onFault }: BatchedFunction<Item, Output>,
): Batch<Item, Output> {
  return createBatch<Item, Output>({
    most,
    ...(weigh && { weigh }),
    spansShards: functions.spansShards,
    async run(shards) {
      const calls = shards.map(({ shard, items }) => ({
        prefix: keys.prefix(shard),
        args: toArguments(items),
        bodies: toBodies?.(items) ?? [],
      }));
      const count = shards.reduce((sum, { items }) => sum + items.length, 0);
      try {
        const replies = await functions.callEach(name, calls, count);
        return shards.map(({ items }, i) => toOutputs(replies[i], items));
      } catch (error) {
        for (const { items } of shards) onFault?.(items);
        throw error;
      }
    },
  });
}
