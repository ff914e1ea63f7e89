/** The memory of a Redis master, in bytes. */
export interface ServerMemory {
  readonly server: string;
  /** The memory that Redis compares with `maxmemory`. */
  readonly usedBytes: number;
  /** The limit of the memory; undefined when there is no limit. */
  readonly maxBytes: number | undefined;
}

/** The events of a shard that a group of followers has yet to read or ack. */
export interface GroupBacklog {
  readonly group: string;
  /** Number of events that the group has not read. */
  readonly unread: number;
  /** Number of events that the group has read but not acked. */
  readonly unacked: number;
  /** Time when the oldest unread or unacked event arrived, in ms; undefined when no event is unread or unacked. */
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
  readonly operatorEvents: number;
  readonly groups: readonly GroupBacklog[];
}

/** Reads the backlog of a shard, for metrics. */
export interface Backlog {
  read(shard: number): Promise<ShardBacklog>;
}
