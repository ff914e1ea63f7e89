import type { Leases, Member } from "./leases";

/** An inbound event as a group reads it. */
export interface LogEntry {
  /** Identifies the entry within its shard. */
  readonly entryId: string;
  readonly attempt: number;
  readonly workspaceId: string;
  readonly receivedAtMs: number;
  readonly event: Buffer;
}

/**
 * The inbound log, as groups of game services read it. The streams of a group
 * share the shards: the holder of a shard's lease reads that shard.
 */
export interface FollowLog extends Leases {
  /** Maximum number of streams in a group, over all cores. */
  readonly streamsMax: number;
  /** Creates the group on every shard where it does not exist, at the end of the log. */
  open(group: string): Promise<void>;
  /** Returns events that the group has never read; undefined when the lease is lost. */
  readNew(member: Member, shard: number, count: number): Promise<readonly LogEntry[] | undefined>;
  /**
   * Returns events after the entry `after` that the group has read but not acked, and increments their attempts;
   * undefined when the lease is lost. Pass `last` as the next `after`. `last` is undefined at the end.
   */
  readAgain(
    member: Member,
    shard: number,
    count: number,
    after: string | undefined,
  ): Promise<{ readonly entries: readonly LogEntry[]; readonly last: string | undefined } | undefined>;
  /** Does the same as `readAgain`, for the given entries only. */
  readEntries(
    member: Member,
    shard: number,
    entryIds: readonly string[],
  ): Promise<readonly LogEntry[] | undefined>;
  ack(group: string, shard: number, entryIds: readonly string[]): Promise<void>;
  /** Calls `wake` when a shard may have new events. Returns a function that stops the calls. */
  onWake(wake: (shard: number) => void): () => void;
}
