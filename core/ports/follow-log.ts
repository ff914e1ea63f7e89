import type { Member, Leases } from "./leases";

/** An inbound event that a group reads. */
export interface LogEntry {
  /** Identifies the entry within its shard. */
  readonly entryId: string;
  readonly attempt: number;
  readonly workspaceId: string;
  readonly receivedAtMs: number;
  readonly event: Buffer;
  /** The trace context of the span that stored the event; undefined when the request was not traced. */
  readonly traceparent?: string | undefined;
}

/** An event that the group has read, but whose workspace has no room for it in the stream's window. */
export interface ParkedEntry {
  readonly entryId: string;
  readonly workspaceId: string;
}

/**
 * How the workspaces of a shard share the window. While `room` is above 0, a workspace can have another event if it
 * has fewer than `room` or fewer than `least` events in flight. Each delivered event makes `room` smaller. If a
 * workspace has no room for an event, its later events must wait too.
 */
export interface WindowShare {
  /** The number of events that the window has room for. */
  readonly room: number;
  readonly least: number;
  /**
   * The number of events in flight of each workspace that has any; `Infinity` for a workspace whose next events must
   * wait.
   */
  readonly counts: ReadonlyMap<string, number>;
}

/** An event that a game has given up. */
export interface DeadLetter {
  readonly shard: number;
  readonly entryId: string;
  readonly workspaceId: string;
  readonly attempt: number;
  /** Contains no control characters. */
  readonly reason: string;
}

/**
 * The inbound log, as groups of game services read it. The streams of a group divide the shards among themselves: the
 * stream that holds the group's lease on a shard reads that shard.
 */
export interface FollowLog extends Leases {
  /** Maximum number of streams in a group, on all cores together. */
  readonly streamsMax: number;
  /**
   * Adds the group to the registry, and creates the group in the log of each shard, unless the log already contains the
   * group. A new group starts at the end of the log. Changes nothing if the new group would exceed a maximum number of
   * groups.
   *
   * @param opener undefined for an unknown token
   */
  open(group: string, opener?: GroupOpener): Promise<GroupOpened>;
  /**
   * Reads up to `count` events that the group has never read; undefined when the lease is lost. `isEnd` tells whether
   * all events have been read. `parked` lists the events that do not fit in the `share`; without a `share`, every event
   * fits. The attempt of a parked event is 0 until `readEntries` reads it.
   */
  readNew(
    member: Member,
    shard: number,
    count: number,
    share?: WindowShare,
  ): Promise<(ReadEntries & { readonly isEnd: boolean }) | undefined>;
  /**
   * Returns events after the entry `after` that the group has read but not acked, and increments their `attempt`;
   * undefined when the lease is lost. The caller passes `last` as `after` in the next call. `last` is undefined when no
   * such events are left. The attempt of a parked event does not change.
   */
  readAgain(
    member: Member,
    shard: number,
    count: number,
    after: string | undefined,
    share?: WindowShare,
  ): Promise<(ReadEntries & { readonly last: string | undefined }) | undefined>;
  /** Does the same as `readAgain` for the given entries only, and parks no events. */
  readEntries(
    member: Member,
    shard: number,
    entryIds: readonly string[],
  ): Promise<readonly LogEntry[] | undefined>;
  ack(group: string, shard: number, entryIds: readonly string[]): Promise<void>;
  /** Acks an event, and reports it to the operators in the same step. Does nothing if the event was acked already. */
  deadLetter(group: string, letter: DeadLetter): Promise<void>;
  /** Calls `wake` when a shard may have new events. Returns a function that stops the calls. */
  onWake(wake: (shard: number) => void): () => void;
}

export interface ReadEntries {
  readonly entries: readonly LogEntry[];
  /** Undefined when the read had no share. */
  readonly parked?: readonly ParkedEntry[] | undefined;
}

/** The token with which a game opens a group. */
export interface GroupOpener {
  readonly tokenName: string;
  /** Maximum number of groups that tokens with this name can open. */
  readonly groupsMax: number;
}

/**
 * "token-full": the token already has the maximum number of groups. "all-full": all tokens together have the maximum
 * number.
 */
export type GroupOpened = "opened" | "token-full" | "all-full";

/** A group of followers in the registry of all groups. */
export interface RegisteredGroup {
  readonly group: string;
  /** The name of the token that opened the group first; undefined when it was not recorded. */
  readonly tokenName: string | undefined;
  /** Number of live members. */
  readonly members: number;
  /** Time when the group last had a member, in ms, as of an earlier `refresh` or `open`. */
  readonly lastMemberAtMs: number;
}

/** The registry of all groups of followers. */
export interface Groups {
  /**
   * Returns all groups. Adds to the registry the groups that are only in a log, and records which groups have members
   * now.
   */
  refresh(): Promise<readonly RegisteredGroup[]>;
  /**
   * Removes a group from the logs and the registry. The result is "held" when the group has a member, and "missing" when
   * the group does not exist or had a member in the last `idleMs` milliseconds. If a removal is in progress or has
   * failed, the next call completes it, or the next stream that opens the group undoes it. The result is "completed"
   * when the group had a member in the last `idleMs` milliseconds, but another call had begun to remove the group.
   */
  remove(group: string, idleMs: number): Promise<"removed" | "completed" | "held" | "missing">;
}
