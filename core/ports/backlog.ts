/** How far behind a group of followers is in a shard. */
export interface GroupBacklog {
  readonly group: string;
  /** Events it has not read. */
  readonly unread: number;
  /** Events it has read and not acked. */
  readonly unacked: number;
  /** When the oldest of both arrived, ms; undefined when there is none. */
  readonly oldestAtMs: number | undefined;
}

/** What waits in a shard. */
export interface ShardBacklog {
  readonly pushes: number;
  readonly pushBytes: number;
  /** When the oldest event of the push queue was published, ms. */
  readonly oldestPushAtMs: number | undefined;
  readonly mails: number;
  readonly inboundEvents: number;
  readonly groups: readonly GroupBacklog[];
}

/** Says what waits in the shards, for whoever watches the service. */
export interface Backlog {
  read(shard: number): Promise<ShardBacklog>;
}
