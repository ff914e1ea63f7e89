import { HELD_SECONDS, UPDATE_HOLD_MS } from "../contract/numbers";
import type { DmCreate, MessageCreate, MessageEphemeral, MessageUpdate } from "./events";
import { emptyMemory, type Memory } from "./reduce-memory";

/** Limits of the reducer's state. */
export interface BridgeLimits {
  /**
   * Maximum number of messages in the state: only these messages can be updated. The least recently posted or updated
   * message is removed from the state first.
   */
  readonly messages: number;
  /** Maximum number of event ids that are kept to detect repeats. Ids do not expire. */
  readonly events: number;
  /** Maximum number of events that wait for the chat, for a create, or for a retry. */
  readonly open: number;
  /** Maximum number of waiting events in one channel or DM. The maximum falls while the state fills. */
  readonly place: number;
}

/**
 * An event takes at most about 64 KB, so all pending events take less than 64 MB, and the pending events in one place
 * take less than 16 MB. A typical event takes 2 KB. A channel with 200 players can get 200 ephemerals at once.
 */
export const BRIDGE_LIMITS: BridgeLimits = { messages: 10_000, events: 10_000, open: 1_000, place: 250 };

/** Time for which an update waits for its create to arrive, ms. */
export const HOLD_MS = UPDATE_HOLD_MS;
/** Time for which a create that never expires is retried, ms. The service holds an event for the same time. */
export const NEVER_STALE_TRY_MS = HELD_SECONDS * 1_000;

/** The outcome of a message's create. */
export type MessageFate =
  /** The chat shows the message. `applied` is the sequence of the last applied update, 0 for none. */
  { readonly chatMessageId: string; readonly applied: number } | "dropped";

/** A create that the chat has not accepted yet. */
export interface OpenCreate {
  readonly event: MessageCreate | DmCreate;
  /** Time after which the create is dropped, ms since the epoch. */
  readonly untilMs: number;
  /** Whether a call that posts this create is in progress. */
  readonly isPosting: boolean;
  readonly refusals: number;
  /** Earliest time of the next attempt, ms since the epoch. */
  readonly retryAtMs: number;
}

/** An ephemeral that the chat has not accepted yet. The other fields have the same meaning as in `OpenCreate`. */
export interface OpenEphemeral extends Pick<OpenCreate, "untilMs" | "refusals" | "retryAtMs"> {
  readonly event: MessageEphemeral;
  /** Whether a call that shows this ephemeral is in progress. */
  readonly isShowing: boolean;
}

/** The pending updates of one message. */
export interface OpenUpdate {
  /** The update that a call to the chat is applying. */
  readonly editing: { readonly event: MessageUpdate; readonly chatMessageId: string } | undefined;
  /** The newest waiting update. `holdUntilMs`: time until which the update waits for its create, ms since the epoch. */
  readonly next: { readonly event: MessageUpdate; readonly holdUntilMs: number } | undefined;
}

/**
 * The immutable state of a workspace's bridge. `reduce` returns a new state instead of changing the old one. The size
 * of a state is bounded by `limits` and by the size of events.
 */
export interface BridgeState {
  readonly limits: BridgeLimits;
  /** Ids of completed events. */
  readonly settled: Memory<true>;
  /** Outcomes of creates, by `message.id`. */
  readonly messages: Memory<MessageFate>;
  /** Pending creates, in order of sequence. */
  readonly creates: readonly OpenCreate[];
  /** Pending updates, by `message.id`. */
  readonly updates: ReadonlyMap<string, OpenUpdate>;
  /** Pending ephemerals, by event id. */
  readonly ephemerals: ReadonlyMap<string, OpenEphemeral>;
}

/** Returns the state of a new bridge. */
export function initialState(limits: Partial<BridgeLimits> = {}): BridgeState {
  const all = { ...BRIDGE_LIMITS, ...limits };
  return {
    limits: all,
    settled: emptyMemory(all.events),
    messages: emptyMemory(all.messages),
    creates: [],
    updates: new Map(),
    ephemerals: new Map(),
  };
}

/**
 * Returns the part of the state to save for a restart: the map of messages and the ids of completed events.
 * `v8.serialize` can serialize this part. Pending events are omitted. A poller fetches most pending events again,
 * because its cursor has not passed them. The cursor may have passed an update that waits for a missing create, or an
 * ephemeral that waits for a retry. Such an event is not fetched again.
 */
export function lastingState({ limits, settled, messages }: BridgeState): BridgeState {
  return { ...initialState(limits), settled, messages };
}

/** The ids of the events that a poller's cursor must not pass. */
export interface CursorHolders {
  /** Events whose calls to the chat are in progress, and events that wait for these calls. */
  readonly busy: ReadonlySet<string>;
  /** Creates that the chat has refused at least once. */
  readonly refused: ReadonlySet<string>;
}

/**
 * Returns the events that a poller's cursor must not pass. An update that waits for a missing create does not stop the
 * cursor, and neither does an ephemeral that waits for a retry.
 */
export function cursorHolders({ creates, updates, ephemerals }: BridgeState): CursorHolders {
  const [busy, refused] = [new Set<string>(), new Set<string>()];
  const created = new Set(creates.map(({ event }) => event.message.id));
  for (const { event, refusals } of creates) (refusals > 0 ? refused : busy).add(event.id);
  for (const { event, isShowing } of ephemerals.values()) if (isShowing) busy.add(event.id);
  for (const [messageId, { editing, next }] of updates) {
    if (editing === undefined && !created.has(messageId)) continue;
    for (const open of [editing, next]) if (open !== undefined) busy.add(open.event.id);
  }
  return { busy, refused };
}

/** Returns whether a poller's cursor may move past all events that `reduce` has received. */
export function isSettled(state: BridgeState): boolean {
  const { busy, refused } = cursorHolders(state);
  return busy.size === 0 && refused.size === 0;
}

/** Returns the ids of the events that wait for the chat, for a create, or for a retry. */
export function openEventIds({ creates, updates, ephemerals }: BridgeState): ReadonlySet<string> {
  const ids = new Set(ephemerals.keys());
  for (const { event } of creates) ids.add(event.id);
  for (const { editing, next } of updates.values()) {
    for (const open of [editing, next]) if (open !== undefined) ids.add(open.event.id);
  }
  return ids;
}
