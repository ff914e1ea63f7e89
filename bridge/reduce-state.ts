import type { DmCreate, MessageCreate, MessageEphemeral, MessageUpdate } from "./events";
import { emptyMemory, type Memory } from "./reduce-memory";

/** How much the reducer keeps. */
export interface BridgeLimits {
  /** Messages of the chat that can still be updated; the ones posted or updated longest ago are forgotten first. */
  readonly messages: number;
  /** Events that are known again when they repeat. */
  readonly events: number;
  /** Events that wait for the chat, for a create, or for a retry. */
  readonly open: number;
}

export const BRIDGE_LIMITS: BridgeLimits = { messages: 10_000, events: 10_000, open: 1_000 };

/** How long an update waits for a create that has not come. */
export const HOLD_MS = 5_000;
/** How long a create that never goes stale is tried: as long as the service would hold it. */
export const NEVER_STALE_TRY_MS = 24 * 60 * 60 * 1000;

/** What became of a message that was to be posted. */
export type MessageFate =
  /** `applied` is the sequence of the last update that the chat shows, 0 for none. */
  { readonly chatMessageId: string; readonly applied: number } | "dropped";

/** A create that the chat has not taken yet. */
export interface OpenCreate {
  readonly event: MessageCreate | DmCreate;
  /** After this it is dropped. */
  readonly untilMs: number;
  /** The chat is at it. */
  readonly isPosting: boolean;
  readonly refusals: number;
  /** Not to be tried before. */
  readonly retryAtMs: number;
}

/** The updates of one message that the chat does not show yet. */
export interface OpenUpdate {
  /** The chat is at it. */
  readonly editing: { readonly event: MessageUpdate; readonly chatMessageId: string } | undefined;
  /** The newest that came since. */
  readonly next: { readonly event: MessageUpdate; readonly holdUntilMs: number } | undefined;
}

/**
 * All that the bridge of one workspace remembers. It never changes; `reduce` makes
 * the next. It is bounded by its limits and, apart from them, by the size of events.
 */
export interface BridgeState {
  readonly limits: BridgeLimits;
  /** Ids of events that need nothing more. */
  readonly settled: Memory<true>;
  /** By `message.id`. */
  readonly messages: Memory<MessageFate>;
  /** By sequence. */
  readonly creates: readonly OpenCreate[];
  /** By `message.id`. */
  readonly updates: ReadonlyMap<string, OpenUpdate>;
  /** What the chat is to show, by event id. */
  readonly ephemerals: ReadonlyMap<string, MessageEphemeral>;
}

/** The state of a bridge that has seen nothing. */
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
 * What a bridge keeps over a restart (`v8.serialize` takes it): the map of messages
 * and the ids of events. What was under way is left out; a poller's cursor has not
 * passed it, so it comes again.
 */
export function lastingState({ limits, settled, messages }: BridgeState): BridgeState {
  return { ...initialState(limits), settled, messages };
}

/**
 * Whether a poller's cursor may pass all events that were given to the reducer:
 * none of them waits for the chat or for a retry. An update that waits for a create
 * that has not come holds nothing up.
 */
export function isSettled({ creates, updates, ephemerals }: BridgeState): boolean {
  const isEditing = [...updates.values()].some(({ editing }) => editing !== undefined);
  return creates.length === 0 && ephemerals.size === 0 && !isEditing;
}
