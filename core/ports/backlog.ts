/** How far a group of followers is behind in a shard. */
export interface GroupBacklog {
  readonly group: string;
  /** Number of events that the group has not read. */
  readonly unread: number;
  /** Number of events that the group has read but not acked. */
  readonly unacked: number;
  /** Time when the oldest unread or unacked event arrived, in ms; undefined when there is none. */
  readonly oldestAtMs: number | undefined;
}

/** The pending pushes and emails of a shard, and the state of its inbound log. */
export interface ShardBacklog {
  readonly pushes: number;
  readonly pushBytes: number;
  /** Time when the oldest event in the push queue was published, in ms; undefined when the queue is empty. */
  readonly oldestPushAtMs: number | undefined;
  readonly mails: number;
  readonly inboundEvents: number;
  readonly groups: readonly GroupBacklog[];
}

/** Reads the backlog of a shard, for metrics. */
export interface Backlog {
  read(shard: number): Promise<ShardBacklog>;
}
