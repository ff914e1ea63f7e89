import type { Lease } from "../leases/lease";
import type { FollowLog, LogEntry, Member } from "../ports/store";

/** A shard whose lease a stream holds, and the position of the stream in its log. */
export type FollowedShard = ReturnType<typeof followShard>;

/**
 * Reads the log of a shard for one stream: first the entries that were read before and not acked, by another holder of
 * the lease or in an answer that was lost, then the new ones.
 */
export function followShard(log: FollowLog, member: Member, lease: Lease) {
  const { shard } = lease;
  let caughtUp = false;
  /** The last entry that was read again; undefined before the first. */
  let readAgainAfter: string | undefined;
  const followed = {
    lease,
    /** Whether the shard may have entries to read. */
    stirred: true,
    /** Makes the next reads begin with all unacked entries again. */
    readFromStart() {
      caughtUp = false;
      readAgainAfter = undefined;
      followed.stirred = true;
    },
    /** Reads up to `count` entries. Resolves with undefined when the lease is lost. */
    async read(count: number): Promise<readonly LogEntry[] | undefined> {
      followed.stirred = false;
      if (caughtUp) {
        const entries = await log.readNew(member, shard, count);
        followed.stirred ||= entries?.length === count;
        return entries;
      }
      const again = await log.readAgain(member, shard, count, readAgainAfter);
      readAgainAfter = again?.last;
      caughtUp = again !== undefined && again.last === undefined;
      followed.stirred = true;
      return again?.entries;
    },
  };
  return followed;
}
