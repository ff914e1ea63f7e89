import { StoreUnavailable } from "../ports/store-faults";

/** Skips a shard for a while after a call for this shard found the store unavailable. */
export interface ShardRest {
  /**
   * Resolves with the result of `call`. If the store is unavailable, resolves with undefined, and the shard is
   * skipped for a while.
   */
  ask<T>(shard: number, call: () => Promise<T>): Promise<T | undefined>;
  /** Whether the shard must be skipped now. */
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
