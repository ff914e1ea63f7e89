import { StoreUnavailable } from "../ports/store-faults";

/** The items in a call that belong to one shard, in the order in which they were added. */
export interface ShardItems<Item> {
  readonly shard: number;
  readonly items: readonly Item[];
}

/**
 * Batches calls to the store. A batch contains the items of one turn of the event loop, or the items that were added
 * while the previous call was in progress. A hundred requests that arrive together cost one call to Redis and one write
 * to the append-only file. The busier the store is, the larger the batches are.
 *
 * `run` is called with items whose total weight is at most `most`, or with one heavier item. The items are grouped by
 * shard. For each shard, `run` returns a list with one output per item, in the same order. When a call of `run` throws,
 * all items of the call fail with the error. If the error is StoreUnavailable, the items that are still queued fail
 * too.
 *
 * @param weigh returns the weight of an item: how much work it is for the store, relative to a typical item; 1 by
 *   default
 * @param spansShards true if all shards are on one server, so that one call can contain items of several shards
 */
export function createBatch<Item, Output>({
  most,
  weigh,
  spansShards,
  run,
}: {
  readonly most: number;
  weigh?(item: Item): number;
  readonly spansShards: boolean;
  run(shards: readonly ShardItems<Item>[]): Promise<readonly (readonly Output[])[]>;
}): Batch<Item, Output> {
  /** The queues of waiting items: one queue for all shards if `spansShards` is true, otherwise one per shard. */
  const queues = new Map<number, Queue<Item, Output>>();

  async function work(queue: Queue<Item, Output>): Promise<void> {
    const { items } = queue;
    while (items.length > 0) await send(items, items.splice(0, countNext(items, most, weigh)));
    queue.isAtWork = false;
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
      for (const { call } of [...waiting, ...behind]) call.reject(error);
    }
  }

  function add(shard: number, waiting: Waiting<Item, Output>): void {
    const queue = queueOf(spansShards ? 0 : shard);
    queue.items.push(waiting);
    if (queue.isAtWork) return;
    queue.isAtWork = true;
    setImmediate(() => void work(queue));
  }

  function queueOf(name: number): Queue<Item, Output> {
    const known = queues.get(name);
    if (known !== undefined) return known;
    const queue = { items: [], isAtWork: false };
    queues.set(name, queue);
    return queue;
  }

  return {
    one: (shard, item) =>
      new Promise((resolve, reject) => {
        const done = ([output]: readonly Output[]): void => resolve(output as Output);
        add(shard, { shard, item, call: { outputs: [], left: 1, resolve: done, reject }, place: 0 });
      }),
    all(items, shardOf) {
      if (items.length === 0) return Promise.resolve([]);
      return new Promise((resolve, reject) => {
        const outputs = Array.from<Output>({ length: items.length });
        const call = { outputs, left: items.length, resolve, reject };
        for (const [place, item] of items.entries()) {
          const shard = shardOf(item);
          add(shard, { shard, item, call, place });
        }
      });
    },
  };
}

export interface Batch<Item, Output> {
  one(shard: number, item: Item): Promise<Output>;
  /** Resolves with the outputs of all items, in order. Rejects when any item fails. Allocates only one promise. */
  all(items: readonly Item[], shardOf: (item: Item) => number): Promise<readonly Output[]>;
}

interface Queue<Item, Output> {
  readonly items: Waiting<Item, Output>[];
  /** Whether a call for items of this queue is in progress or about to start. */
  isAtWork: boolean;
}

interface Waiting<Item, Output> {
  readonly shard: number;
  readonly item: Item;
  readonly call: Call<Output>;
  /** The item's index in `call`. */
  readonly place: number;
}

/** Items that were added together by one call of `one` or `all`. */
interface Call<Output> {
  readonly outputs: Output[];
  /** Number of items that have no output yet. */
  left: number;
  resolve(outputs: readonly Output[]): void;
  reject(error: unknown): void;
}

/** Returns how many of the first items belong to the next call. */
function countNext<Item, Output>(
  queue: readonly Waiting<Item, Output>[],
  most: number,
  weigh: ((item: Item) => number) | undefined,
): number {
  if (weigh === undefined) return most;
  let weight = 0;
  const over = queue.findIndex(({ item }) => (weight += weigh(item)) > most);
  return over < 0 ? queue.length : Math.max(1, over);
}

/** Groups items by shard, and keeps the order of the items in each shard. */
export function byShard<Each extends { readonly shard: number }>(
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
  for (const [i, { call, place }] of waiting.entries()) {
    if (i >= outputs.length) {
      call.reject(new Error("the store returned fewer outputs than items"));
      continue;
    }
    // An output can be undefined, e.g. the state of a workspace that does not exist.
    call.outputs[place] = outputs[i] as Output;
    call.left -= 1;
    if (call.left === 0) call.resolve(call.outputs);
  }
}
