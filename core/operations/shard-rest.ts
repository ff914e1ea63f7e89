import { StoreUnavailable } from "../ports/store-unavailable";

/** Leaves shards alone for a while that the store is away for. */
export interface ShardRest {
  /** Calls; undefined when the store is away for the shard, which then rests. */
  ask<T>(shard: number, call: () => Promise<T>): Promise<T | undefined>;
  has(shard: number): boolean;
}

export function createShardRest(ms: number): ShardRest {
  const until = new Map<number, number>();
  return {
    async ask(shard, call) {
      try {
        const answer = await call();
        until.delete(shard);
        return answer;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        until.set(shard, performance.now() + ms);
        return undefined;
      }
    },
    has: (shard) => (until.get(shard) ?? 0) > performance.now(),
  };
}
