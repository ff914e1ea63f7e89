/** An inbound event as a group reads it. */
export interface LogEntry {
  /** Names the entry within its shard. */
  readonly entryId: string;
  readonly attempt: number;
  readonly workspaceId: string;
  readonly receivedAtMs: number;
  readonly event: Buffer;
}

/** The holder of leases in a group: one open stream. */
export interface GroupMember {
  readonly group: string;
  readonly consumer: string;
  /** Tells this stream from any other under the same name. */
  readonly token: string;
}

/** The inbound log as groups of game services read it. Every shard is read by the holder of its lease. */
export interface FollowLog {
  readonly shards: number;
  /** Makes the group begin now, on every shard where it is new. */
  open(group: string): Promise<void>;
  /**
   * Says that the member is alive. Undefined when a newer stream has taken its
   * place, else the consumers of the group that are alive, in order.
   */
  join(member: GroupMember, fresh: boolean): Promise<readonly string[] | undefined>;
  leave(member: GroupMember): Promise<void>;
  /** Takes or keeps the lease of a shard for LEASE_MS; false when another holds it. */
  takeLease(member: GroupMember, shard: number): Promise<boolean>;
  dropLease(member: GroupMember, shard: number): Promise<void>;
  /** Events never read by the group; undefined when the lease is lost. */
  readNew(member: GroupMember, shard: number, count: number): Promise<readonly LogEntry[] | undefined>;
  /**
   * Events read by the group and not acked, from after an entry on; their
   * attempts count up. `last` is where to go on, undefined at the end.
   */
  readAgain(
    member: GroupMember,
    shard: number,
    count: number,
    after: string | undefined,
  ): Promise<{ readonly entries: readonly LogEntry[]; readonly last: string | undefined } | undefined>;
  /** The same for just these entries. */
  readEntries(
    member: GroupMember,
    shard: number,
    entryIds: readonly string[],
  ): Promise<readonly LogEntry[] | undefined>;
  ack(group: string, shard: number, entryIds: readonly string[]): Promise<void>;
  /** Calls back when a shard may have something new. Returns how to stop that. */
  onWake(wake: (shard: number) => void): () => void;
}
