import type { FollowLog } from "../ports/follow-log";

const BATCH_MAX = 1_000;
const PENDING_MAX = 10_000;

/** The acks of one stream that are not stored yet. */
export function createPendingAcks(log: FollowLog, group: string) {
  const pending = new Map<number, Set<string>>();
  let size = 0;
  return {
    /** The shards with acks that are not stored yet. */
    get shards() {
      return [...pending.keys()];
    },
    /** Adds an ack. Returns false when too many acks are pending. */
    add(shard: number, entryId: string): boolean {
      if (size >= PENDING_MAX) return false;
      const known = pending.get(shard) ?? new Set<string>();
      pending.set(shard, known);
      size += known.has(entryId) ? 0 : 1;
      known.add(entryId);
      return true;
    },
    has: (shard: number, entryId: string) => pending.get(shard)?.has(entryId) ?? false,
    /** Stores the pending acks of a shard. Stored acks are no longer pending. */
    async write(shard: number): Promise<void> {
      for (let acks = pending.get(shard); acks !== undefined; acks = pending.get(shard)) {
        const batch = [...acks].slice(0, BATCH_MAX);
        await log.ack(group, shard, batch);
        // A parallel `write` may already have stored and deleted these acks. Storing an ack twice does no harm.
        for (const entryId of batch) size -= acks.delete(entryId) ? 1 : 0;
        if (acks.size === 0 && pending.get(shard) === acks) pending.delete(shard);
      }
    },
  };
}
