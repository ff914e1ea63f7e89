import type { DeadLetter, FollowLog } from "../ports/follow-log";

const BATCH_MAX = 1_000;
const PENDING_MAX = 10_000;

/**
 * The acks of one stream that are not stored yet.
 *
 * @param onDeadLetter called when the ack of a dead letter is stored
 */
export function createPendingAcks(
  log: FollowLog,
  group: string,
  onDeadLetter?: (letter: DeadLetter) => void,
) {
  /**
   * The pending acks of each shard, by entry id. The value is undefined if the event was processed, and is not a dead
   * letter.
   */
  const pending = new Map<number, Map<string, DeadLetter | undefined>>();
  let size = 0;

  /** Stores up to `BATCH_MAX` pending acks of a shard. Stored acks are no longer pending. */
  async function writeBatch(shard: number): Promise<void> {
    const acks = pending.get(shard);
    if (acks === undefined) return;
    const processed: string[] = [];
    const letters: DeadLetter[] = [];
    for (const [entryId, letter] of acks) {
      if (processed.length + letters.length >= BATCH_MAX) break;
      if (letter === undefined) processed.push(entryId);
      else letters.push(letter);
    }
    if (processed.length > 0) await log.ack(group, shard, processed);
    for (const letter of letters) await log.deadLetter(group, letter);
    // A parallel call may already have stored and deleted these acks. Storing an ack twice does no harm.
    for (const entryId of processed) size -= acks.delete(entryId) ? 1 : 0;
    for (const letter of letters) {
      if (!acks.delete(letter.entryId)) continue;
      size -= 1;
      onDeadLetter?.(letter);
    }
    if (acks.size === 0 && pending.get(shard) === acks) pending.delete(shard);
  }

  return {
    /** The shards with acks that are not stored yet. */
    get shards() {
      return [...pending.keys()];
    },
    /** Adds an ack. Returns false when too many acks are pending. */
    add(shard: number, entryId: string, letter?: DeadLetter): boolean {
      if (size >= PENDING_MAX) return false;
      const known = pending.get(shard) ?? new Map<string, DeadLetter | undefined>();
      pending.set(shard, known);
      size += known.has(entryId) ? 0 : 1;
      if (!known.has(entryId)) known.set(entryId, letter);
      return true;
    },
    has: (shard: number, entryId: string) => pending.get(shard)?.has(entryId) ?? false,
    /** Stores the acks of a shard that are pending now. Acks that are added during this call stay pending. */
    async writePending(shard: number): Promise<void> {
      for (let left = pending.get(shard)?.size ?? 0; left > 0; left -= BATCH_MAX) await writeBatch(shard);
    },
    /** Stores all pending acks of a shard, including those that are added during this call. */
    async write(shard: number): Promise<void> {
      while (pending.has(shard)) await writeBatch(shard);
    },
  };
}
