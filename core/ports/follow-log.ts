import type { Leases, Member } from "./leases";

/** An inbound event as a group reads it. */
export interface LogEntry {
  /** Names the entry within its shard. */
  readonly entryId: string;
  readonly attempt: number;
  readonly workspaceId: string;
  readonly receivedAtMs: number;
  readonly event: Buffer;
}

/**
 * The inbound log as groups of game services read it. The streams of a group share
 * the shards out: every shard is read by the holder of its lease.
 */
export interface FollowLog extends Leases {
  /** How many streams a group may have, over all cores. */
  readonly streamsMax: number;
  /** Makes the group begin now, on every shard where it is new. */
  open(group: string): Promise<void>;
  /** Events never read by the group; undefined when the lease is lost. */
  readNew(member: Member, shard: number, count: number): Promise<readonly LogEntry[] | undefined>;
  /**
   * Events read by the group and not acked, from after an entry on; their
   * attempts count up. `last` is where to go on, undefined at the end.
   */
  readAgain(
    member: Member,
    shard: number,
    count: number,
    after: string | undefined,
  ): Promise<{ readonly entries: readonly LogEntry[]; readonly last: string | undefined } | undefined>;
  /** The same for just these entries. */
  readEntries(
    member: Member,
    shard: number,
    entryIds: readonly string[],
  ): Promise<readonly LogEntry[] | undefined>;
  ack(group: string, shard: number, entryIds: readonly string[]): Promise<void>;
  /** Calls back when a shard may have something new. Returns how to stop that. */
  onWake(wake: (shard: number) => void): () => void;
}
