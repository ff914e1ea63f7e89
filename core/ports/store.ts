import type { Workspace } from "../domain/workspace";
import type { Change, LoggedChange } from "../domain/workspace-changes";
import type { RenderedEnvelope } from "../domain/envelope";
import type { OutboundType } from "../../contract/messages";
import type { Delivery, LoggedDelivery, ResponseStart } from "../domain/delivery";
import type { FailedEvent } from "../domain/failed-event";
import type { OperatorChange } from "../domain/operator-event";
import { POLLS_LOGGED_MAX, PUSHES_LOGGED_MAX, type SendAgainResult } from "../../contract/deliveries";

/**
 * The store is unreachable, did not answer in time, or cannot do the operation now.
 * The operation may or may not have been done, so it must not be confirmed to a client.
 */
export class StoreUnavailable extends Error {
  override readonly name: string = "StoreUnavailable";
}

/**
 * The store is full, so it rejects what adds data: Redis is at its `maxmemory`, or the log of inbound events is at its
 * bound. Reads, acks and deletions succeed, and free memory. The message says what is full, and what to do.
 */
export class StoreFull extends StoreUnavailable {
  override readonly name = "StoreFull";
}

/**
 * A workspace, and the version of its record at the time of the read. Later steps check that the version has not
 * changed.
 */
export interface WorkspaceRecord {
  readonly workspace: Workspace;
  readonly version: number;
}

/** The memory of a Redis master, in bytes. */
export interface ServerMemory {
  readonly server: string;
  /** The memory that Redis compares with `maxmemory`. */
  readonly usedBytes: number;
  /** The limit of the memory; undefined when there is no limit. */
  readonly maxBytes: number | undefined;
}

/** A page of workspaces, newest first. */
export interface WorkspacePage {
  readonly workspaces: readonly Workspace[];
  /** The value of `after` for the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/** The records of all workspaces. */
export interface Workspaces {
  /**
   * Returns the record from this core's cache, if present. The record may be stale, so later steps check its version.
   */
  recall(id: string): WorkspaceRecord | undefined;
  /** Returns the current record in the store. */
  read(id: string): Promise<WorkspaceRecord | undefined>;
  /** Stores the workspace and logs `changes`, in one step. Returns false when the id is already used. */
  create(workspace: Workspace, changes?: readonly Change[]): Promise<boolean>;
  /**
   * Stores the workspace and logs `changes`, in one step. Returns false when the version of the record has changed; the
   * caller must then read the record again.
   */
  replace(workspace: Workspace, version: number, changes?: readonly Change[]): Promise<boolean>;
  /**
   * Deletes the workspace, its held and kept events, and its logs of deliveries and changes. Returns false when the
   * workspace did not exist.
   */
  delete(workspace: Workspace): Promise<boolean>;
  /**
   * Returns one page. The result is undefined when `after` is not a valid `next`.
   *
   * @param after the `next` of the previous page
   * @param only ids of the workspaces to list; undefined for all workspaces
   */
  list(
    size: number,
    after: string | undefined,
    only?: ReadonlySet<string>,
  ): Promise<WorkspacePage | undefined>;
}

/** The keys of SECRETS_KEY that encrypt the active secrets of a workspace. */
export interface SecretKeyUse {
  readonly workspaceId: string;
  /** The fingerprints of the keys, each once. Empty for a workspace without secrets. */
  readonly keys: readonly string[];
  /** The keys of the secrets that core cannot decrypt, each once. Empty if all secrets are readable. */
  readonly missingKeys: readonly string[];
}

/** The result of re-encrypting the secrets of one page of workspaces. */
export interface ReEncrypted {
  /** Number of workspaces whose secrets are now encrypted with the newest key. */
  readonly changed: number;
  /** Number of readable workspaces that needed no change. */
  readonly already: number;
  /** Ids of the workspaces with a secret that core cannot decrypt. Such a secret is unchanged. */
  readonly unreadable: readonly string[];
  /** Number of workspaces of all pages, for the first page; otherwise 0. */
  readonly total: number;
  /** The token of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/** The keys that encrypt the stored secrets. Both methods work on one page, and return undefined for an invalid token. */
export interface SecretKeys {
  /** The fingerprint of the key that encrypts new secrets. */
  readonly newest: string;
  /** @param token the `next` of the previous page; empty for the first page */
  list(
    token: string,
  ): Promise<{ readonly uses: readonly SecretKeyUse[]; readonly next: string | undefined } | undefined>;
  /**
   * Encrypts the secrets of a page of workspaces with the newest key. The workspaces and their versions do not change.
   *
   * @param token the `next` of the previous page; empty for the first page
   */
  reEncrypt(token: string): Promise<ReEncrypted | undefined>;
}

/** The changes that operators made in each workspace: the last `CHANGES_LOGGED_MAX`. */
export interface ChangeLog {
  /**
   * Logs that events were sent: a test event, or events that are sent again. Such entries have their own bound, so that
   * they never displace other changes. Does nothing if the workspace does not exist.
   */
  append(workspaceId: string, change: Change): Promise<void>;
  /** Returns all logged changes, newest first. */
  read(workspaceId: string): Promise<readonly LoggedChange[]>;
}

/** Seconds until the next request from the sender would pass, at least 1; undefined when this request passes. */
export type RetryAfterSeconds = number | undefined;

/** The limits of the tests that callers send to addresses for operator events. */
export interface OperatorTestLimits {
  /**
   * Counts a test, unless a limit is reached. Then returns which addresses have the limit, and the seconds until a test
   * passes.
   *
   * @param workspaceId the workspace whose address is tested; undefined for the addresses of the installation
   * @param email the address of the workspace, if it is an email address
   */
  admit(
    workspaceId: string | undefined,
    email: string | undefined,
  ): Promise<{ readonly of: string; readonly afterSeconds: number } | undefined>;
}

/** The limit per sending address (check 2 in README.md), as a separate step. */
export interface RequestLimits {
  /** Counts a request from a sending address, which must be in canonical form. A rejected request is not counted. */
  admitAddress(address: string): Promise<RetryAfterSeconds>;
}

/**
 * Identifies an inbound request. A second request with the same identity is a repeat (see "Idempotency" in the
 * contract).
 */
export type RequestIdentity =
  /** The request id that the bridge sent. */
  | { readonly by: "id"; readonly id: string }
  /** For a request without an id: its signed timestamp (in seconds) and its exact bytes. */
  | { readonly by: "bytes"; readonly timestamp: number; readonly body: Uint8Array };

/** An inbound request that passed checks 1, 3, 4 and 5 of the table in README.md. */
export interface Append {
  /** The record that checks 3 to 5 used. */
  readonly record: WorkspaceRecord;
  /** The sender's address in canonical form, for check 2; undefined when that check has already passed. */
  readonly address?: string | undefined;
  /**
   * The event to store, or "fault" for an event that breaks a field rule: such a request only counts against the
   * limits.
   */
  readonly event:
    | {
        readonly identity: RequestIdentity;
        readonly bytes: Uint8Array;
        readonly traceparent?: string | undefined;
      }
    | "fault";
}

export type Appended =
  | { readonly outcome: "stored" }
  | { readonly outcome: "repeated" }
  | { readonly outcome: "fault" }
  /** Not stored: the log has no room for events of this workspace until games have acked earlier events. */
  | { readonly outcome: "full" }
  /** The record has changed since it was read. The caller must repeat the checks from check 3. */
  | { readonly outcome: "stale" }
  /** Rejected by check 2 ("address-limited") or check 6 ("limited"). */
  | { readonly outcome: "address-limited" | "limited"; readonly retryAfterSeconds: number };

/** The log of accepted inbound events. */
export interface InboundLog {
  /**
   * In one step and in this order: performs checks 2 and 6, reports a failed check 7, detects a repeat, and stores the
   * event. The event is durable when the promise resolves. On a cluster, check 2 is a separate step, before this step.
   */
  append(append: Append): Promise<Appended>;
  /** Removes the events of a shard that every group has acked, and the events that are too old. */
  tidy(shard: number): Promise<void>;
  /** Returns the time of the first signed POST to a workspace, in ms since the epoch; undefined when none has arrived. */
  firstAtMs(workspaceId: string): Promise<number | undefined>;
}

/**
 * Events that were removed from the log before every group of followers had acked them, or while no group existed. By
 * size, only events that at least one group has acked are removed, unless no group exists.
 */
export interface InboundDropped {
  readonly count: number;
  /** The limit that was exceeded: the size of the log or the age of the events. */
  readonly reason: "size" | "age";
  /** The group that lost the largest number of these events; undefined when no group exists. */
  readonly group: string | undefined;
}

/** A rendered event to publish to a workspace. */
export interface Publication {
  readonly workspaceId: string;
  /** The empty string for a publication without a key. */
  readonly idempotencyKey: string;
  readonly eventId: string;
  readonly messageId: string;
  readonly expiresAtMs: number | null;
  readonly type: OutboundType;
  /**
   * How a push workspace gets the event. "retried": from the queue, with retries. "once": from the queue, without
   * retries. "direct": the caller pushes the event.
   */
  readonly push: "retried" | "once" | "direct";
  readonly envelope: RenderedEnvelope;
  /** The context to store with an event that will be pushed; undefined when the event is not traced. */
  readonly traceparent?: string | undefined;
}

export type Published =
  | {
      /**
       * "repeated" when the idempotency key was used before. The ids, the sequence and the expiry are then those of the
       * first publication.
       */
      readonly outcome: "published" | "repeated";
      readonly eventId: string;
      readonly sequence: number;
      readonly messageId: string;
      readonly expiresAtMs: number | null;
      /** The delivery mode of the workspace, for a published event whose `push` is "direct"; otherwise undefined. */
      readonly mode: "poll" | "push" | undefined;
    }
  | { readonly outcome: "unknown-workspace" }
  /**
   * Not stored: the held events of the workspace have the maximum of `bytes`. `waiting` of them wait for a bridge that
   * does not poll; 0 if the bridge polls.
   */
  | { readonly outcome: "held-full"; readonly bytes: number; readonly waiting: number }
  /** Not stored: the store has no memory left for held events. */
  | { readonly outcome: "store-full" };

/** Accepts outbound events. An event is held for a poll workspace and queued for a push workspace. */
export interface OutboundEvents {
  /** Assigns the sequence and appends the event in one step. The event is durable when the promise resolves. */
  publish(publication: Publication): Promise<Published>;
  /**
   * Publishes several events in order, each as `publish` does. Rejects when the store cannot publish one of the events.
   */
  publishAll(publications: readonly Publication[]): Promise<readonly Published[]>;
}

/**
 * Where a page starts: at the oldest held event, after a cursor, or after the newest event ("latest"). A page from
 * "latest" is empty.
 */
export type PageStart =
  | { readonly from: "oldest" }
  | { readonly from: "latest" }
  | { readonly from: "after"; readonly cursor: string };

/** A poll that passed checks 3 to 5 of the table in README.md. */
export interface PageRequest {
  /** The record that checks 3 to 5 used. */
  readonly record: WorkspaceRecord;
  /** The sender's address in canonical form, for check 2; undefined when that check has already passed. */
  readonly address?: string | undefined;
  /** The page to read, or "count" for a poll that will be rejected: such a poll only counts against the limits. */
  readonly page: { readonly start: PageStart; readonly limit: number } | "count";
}

export type PageAnswer =
  | {
      readonly outcome: "page";
      /** The bytes of each event, as sent to the bridge. */
      readonly events: readonly Buffer[];
      /**
       * The sequence of the last event on the page. For a page from "latest", the sequence of the newest event. For any
       * other empty page, undefined.
       */
      readonly last: string | undefined;
      readonly hasMore: boolean;
      /** Whether events after the request's cursor expired before the page was read. */
      readonly gap: boolean;
      /**
       * Only for a large page: must be called when the page has been sent, or is dropped. Until then, but for 5 seconds at
       * most, no other large page of the workspace is read. The next page may also wait for the workspace's pace.
       */
      readonly release?: () => void;
    }
  | { readonly outcome: "counted" }
  /** The record has changed since it was read. The caller must repeat the checks from check 3. */
  | { readonly outcome: "stale" }
  /** Rejected by check 2 ("address-limited") or check 6 ("limited"). */
  | { readonly outcome: "address-limited" | "limited"; readonly retryAfterSeconds: number };

/** Events held for polling bridges. */
export interface HeldEvents {
  /** Performs checks 2 and 6, then reads the page. On a cluster, check 2 is a separate step before check 6. */
  page(request: PageRequest): Promise<PageAnswer>;
}

/** An event that waits to be pushed, and its attempts so far. */
export interface QueuedPush {
  readonly entryId: string;
  readonly workspaceId: string;
  readonly eventId: string;
  /** The empty string for an event without a message. */
  readonly messageId: string;
  readonly eventType: string;
  readonly expiresAtMs: number | null;
  readonly isRetried: boolean;
  /** The bytes of the event, the same as on a page. */
  readonly envelope: Buffer;
  /** The context of the span that published the event; undefined when the event is not traced. */
  readonly traceparent?: string | undefined;
  /** Bytes of the event's entry in the queue: the envelope and all other fields. */
  readonly bytes: number;
  /** Number of recorded attempts. */
  readonly attempts: number;
  /** Time when the first attempt failed, in ms; 0 when no attempt is recorded. */
  readonly firstFailedAtMs: number;
}

/** The bounds of one read. If any events are left, a read returns at least one event, however large. */
export interface ReadBound {
  readonly events: number;
  readonly bytes: number;
}

export interface QueueRead {
  readonly pushes: readonly QueuedPush[];
  /** The version of each workspace in `pushes` at the time of the read; 0 for a workspace that no longer exists. */
  readonly versions: ReadonlyMap<string, number>;
  /** Whether the queue was read to its end. */
  readonly isEnd: boolean;
}

/** The result of an attempt, or a decision that needs no attempt, e.g. to drop an expired event. */
export interface PushRecord {
  readonly push: QueuedPush;
  readonly delivery: Delivery | undefined;
  /** The response to log with the delivery. */
  readonly response?: ResponseStart | undefined;
  /**
   * - "done": the event leaves the queue.
   * - "keep": the event leaves the queue, and is kept as a failed event.
   * - "retry": the event stays in the queue for the next attempt.
   * - "hold": the event moves from the queue to the held events, because its workspace is now a poll workspace.
   */
  readonly next:
    | { readonly do: "done" | "keep" }
    | { readonly do: "hold" }
    | { readonly do: "retry"; readonly attempts: number; readonly firstFailedAtMs: number };
}

/**
 * - "recorded": the record is stored.
 * - "lost": nothing was recorded, because this core no longer holds the lease of the shard.
 *
 * A record with "hold" has further outcomes:
 * - "pushed": the workspace is a push workspace again, so the event stays in the queue.
 * - "polls": the event was dropped, because it is an update, and an event that is already held may be a later update of
 *   the same message.
 * - "disconnected": the event was dropped, because its workspace is disconnected or deleted.
 */
export const RECORDED = ["recorded", "lost", "pushed", "polls", "disconnected"] as const;
export type Recorded = (typeof RECORDED)[number];

/**
 * The push queues of the shards. Only the holder of a shard's lease works on the shard's queue; `token` proves that the
 * caller is the holder.
 */
export interface PushQueue {
  /** Returns the first events after the entry `after`, in order of publication; undefined when the lease is lost. */
  read(
    token: string,
    shard: number,
    after: string | undefined,
    most: ReadBound,
  ): Promise<QueueRead | undefined>;
  /** Logs the delivery and stores the next state of the event, in one step. */
  record(token: string, shard: number, record: PushRecord): Promise<Recorded>;
  /** Calls `wake` when a shard may have new events. Returns a function that stops the calls. */
  onWake(wake: (shard: number) => void): () => void;
}

/** Maximum number of entries in the delivery log of a workspace: attempts, drops and polls. */
export const LOGGED_MAX = PUSHES_LOGGED_MAX + POLLS_LOGGED_MAX;

/** An event that was pushed without being queued. */
export interface UnqueuedEvent {
  readonly eventId: string;
  readonly sequence: number;
  readonly eventType: string;
  readonly expiresAtMs: number | null;
  /** The bytes of the event, the same as in its push. */
  readonly envelope: Buffer;
}

/** An entry of the delivery log, and its data that is still stored. */
export interface LogEntryDetail {
  readonly delivery: LoggedDelivery;
  /** The start of the response to the attempt; undefined when there is none or it is no longer stored. */
  readonly response: ResponseStart | undefined;
  /** The event of an attempt or a drop, while the event is kept. */
  readonly failed: (FailedEvent & { readonly envelope: Buffer }) | undefined;
  /** The bytes of the events that a poll returned and that are still held, oldest first. */
  readonly held: readonly Buffer[];
}

/** The events whose pushes failed in the last day. */
export interface FailedEvents {
  /** Returns the kept events of a workspace, newest failure first. */
  list(workspaceId: string): Promise<readonly FailedEvent[]>;
  /**
   * Moves kept events to the end of the push queue, in one step. Returns the result for each id, in order; undefined
   * when the workspace is not a push workspace.
   */
  sendAgain(
    workspaceId: string,
    eventIds: readonly string[],
  ): Promise<readonly SendAgainResult[] | undefined>;
}

/**
 * The deliveries of each workspace in the last seven days: up to 1,000 attempts and drops, and 500 entries for polls.
 * An entry for polls is one poll that returned events, or a run: consecutive polls without events.
 */
export interface DeliveryLog {
  /**
   * Appends a delivery and returns it with its id and time. In the same step, stores the response to the attempt, and
   * keeps the event as a failed event, if given.
   */
  append(
    workspaceId: string,
    delivery: Delivery,
    more?: { readonly response?: ResponseStart | undefined; readonly failed?: UnqueuedEvent | undefined },
  ): Promise<LoggedDelivery>;
  /**
   * Returns up to `count` deliveries older than the delivery with the id `before`, newest first. Without `before`,
   * starts at the newest delivery.
   */
  read(workspaceId: string, count: number, before: string | undefined): Promise<readonly LoggedDelivery[]>;
  /** Returns one entry with its data that is still stored; undefined when the log does not have the entry. */
  readEntry(workspaceId: string, id: string): Promise<LogEntryDetail | undefined>;
  /**
   * Starts to watch the log. Each call of the returned function returns the deliveries logged since the previous call,
   * oldest first. A run of polls that has grown is returned again, with the same id.
   */
  watch(workspaceId: string): Promise<() => Promise<readonly LoggedDelivery[]>>;
}

/** The polling health of a workspace. Times are in ms; undefined means never. */
export interface PollHealth {
  readonly failingSinceMs: number | undefined;
  readonly lastPollAtMs: number | undefined;
  /** Number of held events that are newer than the last event served to the bridge, at most 1,000. */
  readonly waiting: number;
  readonly oldestWaitingAtMs: number | undefined;
  /** Time of the poll that ended the last outage. */
  readonly recoveredAtMs: number | undefined;
  /** Time of the last event that was refused because the held events were at their bound, exact to 10 seconds. */
  readonly refusedAtMs: number | undefined;
}

/** An email about an outage: the bridge of a workspace has stopped polling. */
export interface OutageMail {
  readonly entryId: string;
  readonly workspaceId: string;
  readonly failingSinceMs: number;
  readonly oldestWaitingAtMs: number;
}

/** The result of one check of the poll workspaces of a shard. */
export interface Found {
  /** Ids of the workspaces that this check marked as failing. */
  readonly workspaceIds: readonly string[];
  /** Number of emails in the outbox. */
  readonly mails: number;
  /** Number of emails that were removed unsent because the outbox was full. */
  readonly mailsDropped: number;
  /** Number of operator events in the outbox. */
  readonly operatorEvents: number;
  /** Number of operator events that were removed unsent, because they were too old or the outbox was full. */
  readonly operatorEventsDropped: Readonly<Record<OperatorEventDrop, number>>;
}

/** The reason why an operator event leaves the outbox of its shard unsent. */
export type OperatorEventDrop = "expired" | "full";

/** An operator event in the outbox of its shard. */
export interface StoredOperatorEvent extends OperatorChange {
  readonly entryId: string;
}

/** The operator events that are not delivered yet. The functions that change a workspace's state add them. */
export interface OperatorOutbox {
  /** Returns the oldest events after the entry `after` of the shard's outbox. */
  read(shard: number, after: string | undefined): Promise<readonly StoredOperatorEvent[]>;
  remove(shard: number, event: Pick<StoredOperatorEvent, "entryId" | "workspaceId">): Promise<void>;
}

/** Finds poll workspaces whose bridges do not poll, and stores the emails about these workspaces. */
export interface PollWatch {
  /**
   * Marks poll workspaces of the shard as failing when their events have waited five minutes without a poll. Adds one
   * email per outage to the outbox. A full outbox drops its oldest emails unsent. Also adds the operator events about
   * poll and push workspaces that have begun to fail, and removes operator events that are too old.
   */
  findFailing(shard: number): Promise<Found>;
  health(workspaceId: string): Promise<PollHealth>;
  /** Returns the oldest emails after the entry `after` of the shard's outbox. */
  readMail(shard: number, after: string | undefined): Promise<readonly OutageMail[]>;
  removeMail(shard: number, entryId: string): Promise<void>;
}

/** An inbound event that a group reads. */
export interface LogEntry {
  /** Identifies the entry within its shard. */
  readonly entryId: string;
  readonly attempt: number;
  readonly workspaceId: string;
  readonly receivedAtMs: number;
  readonly event: Buffer;
  /** The context of the span that stored the event; undefined when the request was not traced. */
  readonly traceparent?: string | undefined;
}

/**
 * The inbound log for groups of game services. The streams of a group divide the shards among themselves: the stream
 * that holds the group's lease on a shard reads that shard.
 */
export interface FollowLog extends Leases {
  /** Maximum number of streams in a group, over all cores. */
  readonly streamsMax: number;
  /**
   * Adds the group to the registry, and creates the group in the log of each shard, unless the log already has the
   * group. A new group starts at the end of the log. Changes nothing when the new group would exceed a bound.
   *
   * @param opener undefined for an unknown token
   */
  open(group: string, opener?: GroupOpener): Promise<GroupOpened>;
  /**
   * Reads up to `count` events that the group has never read; undefined when the lease is lost. `isEnd` says whether all
   * events were read.
   */
  readNew(
    member: Member,
    shard: number,
    count: number,
  ): Promise<{ readonly entries: readonly LogEntry[]; readonly isEnd: boolean } | undefined>;
  /**
   * Returns events after the entry `after` that the group has read but not acked, and increments their `attempt`;
   * undefined when the lease is lost. Pass `last` as the next `after`. `last` is undefined when no such events are
   * left.
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

/** The token that opens a group. */
export interface GroupOpener {
  readonly tokenName: string;
  /** Maximum number of groups that tokens with this name can open. */
  readonly groupsMax: number;
}

/** "token-full" and "all-full": the token, or all tokens together, already have the maximum number of groups. */
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
   * Returns all groups. Adds the groups that are only in a log to the registry, and records which groups have members
   * now.
   */
  refresh(): Promise<readonly RegisteredGroup[]>;
  /**
   * Removes a group from the logs and the registry. The result is "held" when the group has a member, and "missing" when
   * the group does not exist or had a member in the last `idleMs` milliseconds. A removal that is in progress, or has
   * failed, is completed by the next call, or undone by the next stream that opens the group. The result is "completed"
   * when the group had a member in the last `idleMs` milliseconds, but another call had begun to remove the group.
   */
  remove(group: string, idleMs: number): Promise<"removed" | "completed" | "held" | "missing">;
}

/** A member of a group: a core, or a stream of a group of followers. */
export interface Member {
  /** The group whose members share the shards. Each group has its own leases. */
  readonly group: string;
  readonly name: string;
  /** Distinguishes this member from any other with the same name. */
  readonly token: string;
  /**
   * The workspaces whose events a follower gets; undefined for all. Reads ack the events of other workspaces, so that the
   * group does not fall behind.
   */
  readonly workspaces?: ReadonlySet<string> | undefined;
}

/** Milliseconds until a lease expires unless it is renewed. When a holder crashes, its shards wait up to this long. */
export const LEASE_MS = 3_000;

/**
 * The reason why a join fails: a newer member has the same name ("replaced"), or the group has the maximum number of
 * members ("full").
 */
export type NotJoined = "replaced" | "full";

/** The live members of a group. */
export interface LiveMembers {
  /** The names, in order. */
  readonly names: readonly string[];
  /** Whether a member is of a release that shares the shards by an older rule: see `core/leases/owners.ts`. */
  readonly hasOlder: boolean;
}

/** Leases of shards. */
export interface Leases {
  readonly shards: number;
  /**
   * Adds a member to its group, or reports that the member is still alive. Returns all live members.
   *
   * @param fresh true until the member has received its first answer, because its name may still belong to an older
   *   member
   * @param ageMs milliseconds since the member entered the group. The ages determine which of two members with the same
   *   name is newer, because a join may arrive late or twice.
   */
  join(member: Member, fresh: boolean, ageMs?: number): Promise<LiveMembers | NotJoined>;
  leave(member: Member): Promise<void>;
  /** Acquires or renews the lease of a shard for LEASE_MS. Returns false when another member holds the lease. */
  take(member: Member, shard: number): Promise<boolean>;
  drop(member: Member, shard: number): Promise<void>;
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
