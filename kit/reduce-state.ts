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
  /** Maximum number of seen event ids that are kept to detect repeats, however old they are. */
  readonly events: number;
  /** Maximum number of events that wait for the chat, for a create, or for a retry. */
  readonly open: number;
}

export const BRIDGE_LIMITS: BridgeLimits = { messages: 10_000, events: 10_000, open: 1_000 };

/** Time for which an update waits for its create to arrive, ms. */
export const HOLD_MS = UPDATE_HOLD_MS;
/** Time for which a create that never expires is retried, ms: as long as the service holds an event. */
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
 * The immutable state of a workspace's bridge: `reduce` returns a new state. The size of
 * a state is bounded by `limits` and by the size of events.
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
 * `v8.serialize` can serialize this part. Pending events are omitted. A poller fetches most of them again, because its
 * cursor has not passed them. The cursor may have passed an update that waits for a missing create, or an ephemeral
 * that waits for a retry: these are not fetched again.
 */
export function lastingState({ limits, settled, messages }: BridgeState): BridgeState {
  return { ...initialState(limits), settled, messages };
}

/**
 * Returns whether a poller's cursor may move past all events that the reducer was given:
 * no call to the chat is in progress, and no create waits. An update that waits for a
 * missing create does not stop the cursor, and neither does an ephemeral that waits for a retry.
 */
export function isSettled({ creates, updates, ephemerals }: BridgeState): boolean {
  const isEditing = [...updates.values()].some(({ editing }) => editing !== undefined);
  const isWhispering = [...ephemerals.values()].some(({ isShowing }) => isShowing);
  return creates.length === 0 && !isWhispering && !isEditing;
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
