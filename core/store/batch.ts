/**
 * Joins calls for the same shard that are made in one turn of the event loop
 * into one: a hundred requests that arrive together cost one call of Redis and
 * one write of its append-only file.
 *
 * `run` gets up to `most` items and answers one output for each, in their order;
 * when it throws, every item of that call fails with its error.
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
  let turn = new Map<number, Waiting[]>();

  function flush(): void {
    const due = turn;
    turn = new Map();
    for (const [shard, waiting] of due) {
      for (let from = 0; from < waiting.length; from += most) {
        void send(shard, waiting.slice(from, from + most));
      }
    }
  }

  async function send(shard: number, waiting: readonly Waiting[]): Promise<void> {
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
      for (const { reject } of waiting) reject(error);
    }
  }

  return (shard, item) =>
    new Promise((resolve, reject) => {
      if (turn.size === 0) setImmediate(flush);
      const waiting = turn.get(shard);
      if (waiting === undefined) turn.set(shard, [{ item, resolve, reject }]);
      else waiting.push({ item, resolve, reject });
    });
}
