import { StoreUnavailable } from "../ports/store";

/** The items of one shard in a call, in the order in which they were added. */
export interface ShardItems<Item> {
  readonly shard: number;
  readonly items: readonly Item[];
}

/**
 * Batches calls to the store. A batch has the items of one turn of the event loop, or those
 * that were added while the previous call was in progress. A hundred requests that arrive
 * together cost one call of Redis and one write of its append-only file. The busier the
 * store is, the larger the batches are.
 *
 * `run` is called with up to `most` items, grouped by shard, and returns one output per item,
 * in the same order. When `run` throws, all items of that call fail with its error. With
 * StoreUnavailable, the items queued behind them fail too.
 *
 * @param spansShards whether one call may be for several shards, because all are on one server
 */
export function createBatch<Item, Output>({
  most,
  spansShards,
  run,
}: {
  readonly most: number;
  readonly spansShards: boolean;
  run(shards: readonly ShardItems<Item>[]): Promise<readonly (readonly Output[])[]>;
}): (shard: number, item: Item) => Promise<Output> {
  /** The queue of each server, or shard, with a call that is in progress or about to start. */
  const queues = new Map<number, Waiting<Item, Output>[]>();

  async function work(name: number, queue: Waiting<Item, Output>[]): Promise<void> {
    while (queue.length > 0) await send(queue, queue.splice(0, most));
    queues.delete(name);
  }

  async function send(
    queue: Waiting<Item, Output>[],
    waiting: readonly Waiting<Item, Output>[],
  ): Promise<void> {
    const shards = byShard(waiting);
    try {
      const outputs = await run(
        shards.map(([shard, each]) => ({ shard, items: each.map(({ item }) => item) })),
      );
      for (const [s, [, each]] of shards.entries()) settle(each, outputs[s] ?? []);
    } catch (error) {
      const behind = error instanceof StoreUnavailable ? queue.splice(0) : [];
      for (const { reject } of [...waiting, ...behind]) reject(error);
    }
  }

  return (shard, item) =>
    new Promise((resolve, reject) => {
      const name = spansShards ? 0 : shard;
      const queue = queues.get(name);
      if (queue !== undefined) {
        queue.push({ shard, item, resolve, reject });
        return;
      }
      const fresh = [{ shard, item, resolve, reject }];
      queues.set(name, fresh);
      setImmediate(() => void work(name, fresh));
    });
}

interface Waiting<Item, Output> {
  readonly shard: number;
  readonly item: Item;
  resolve(output: Output): void;
  reject(error: unknown): void;
}

function byShard<Each extends { readonly shard: number }>(
  waiting: readonly Each[],
): readonly (readonly [number, readonly Each[]])[] {
  const shards = new Map<number, Each[]>();
  for (const each of waiting) {
    const known = shards.get(each.shard);
    if (known === undefined) shards.set(each.shard, [each]);
    else known.push(each);
  }
  return [...shards];
}

function settle<Item, Output>(waiting: readonly Waiting<Item, Output>[], outputs: readonly Output[]): void {
  for (const [i, { resolve, reject }] of waiting.entries()) {
    const output = outputs[i];
    if (output === undefined) reject(new Error("the store returned fewer outputs than items"));
    else resolve(output);
  }
}
