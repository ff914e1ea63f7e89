import { StoreUnavailable } from "../ports/store-unavailable";

/**
 * Joins calls for the same shard into one: those of one turn of the event loop,
 * and those that come while the call before them is under way. A hundred requests
 * that arrive together cost one call of Redis and one write of its append-only
 * file, and the busier the store, the more share them.
 *
 * `run` gets up to `most` items and answers one output for each, in their order;
 * when it throws, every item of that call fails with its error, and when the store
 * is out of reach, so do those that wait behind it.
 */
export function createBatch<Item, Output>({
  most,
  run,
}: {
  readonly most: number;
  run(shard: number, items: readonly Item[]): Promise<readonly Output[]>;
}): (shard: number, item: Item) => Promise<Output> {
  interface Waiting {
    readonly item: Item;
    resolve(output: Output): void;
    reject(error: unknown): void;
  }
  /** Of each shard with a call under way or about to be made. */
  const queues = new Map<number, Waiting[]>();

  async function work(shard: number, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) await send(shard, queue, queue.splice(0, most));
    queues.delete(shard);
  }

  async function send(shard: number, queue: Waiting[], waiting: readonly Waiting[]): Promise<void> {
    try {
      const outputs = await run(
        shard,
        waiting.map(({ item }) => item),
      );
      for (const [i, { resolve, reject }] of waiting.entries()) {
        const output = outputs[i];
        if (output === undefined) reject(new Error("the store answered fewer items than it was asked for"));
        else resolve(output);
      }
    } catch (error) {
      const behind = error instanceof StoreUnavailable ? queue.splice(0) : [];
      for (const { reject } of [...waiting, ...behind]) reject(error);
    }
  }

  return (shard, item) =>
    new Promise((resolve, reject) => {
      const queue = queues.get(shard);
      if (queue !== undefined) {
        queue.push({ item, resolve, reject });
        return;
      }
      const fresh = [{ item, resolve, reject }];
      queues.set(shard, fresh);
      setImmediate(() => void work(shard, fresh));
    });
}
