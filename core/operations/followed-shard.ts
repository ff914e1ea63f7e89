import type { Lease } from "../leases/lease";
import type { FollowLog, LogEntry } from "../ports/follow-log";
import type { Member } from "../ports/leases";

/** A shard whose lease a stream holds, and the stream's position in the log of the shard. */
export type FollowedShard = ReturnType<typeof followShard>;

/**
 * Reads the log of a shard for one stream: first the unacked entries, then the new entries. The unacked entries
 * were already read, by another holder of the lease or by a call whose answer was lost.
 */
export function followShard(log: FollowLog, member: Member, lease: Lease) {
  const { shard } = lease;
  let caughtUp = false;
  /** The id of the last entry that was read again; undefined before the first such read. */
  let readAgainAfter: string | undefined;
  const followed = {
    lease,
    /** Whether the shard may have entries to read. */
    stirred: true,
    /** Makes the next reads start again with all unacked entries. */
    readFromStart() {
      caughtUp = false;
      readAgainAfter = undefined;
      followed.stirred = true;
    },
    /** Reads up to `count` entries. Resolves with undefined when the lease is lost. */
    async read(count: number): Promise<readonly LogEntry[] | undefined> {
      followed.stirred = false;
      if (caughtUp) {
        const fresh = await log.readNew(member, shard, count);
        followed.stirred ||= fresh?.isEnd === false;
        return fresh?.entries;
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
