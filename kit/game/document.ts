import type { MessageContent } from "./content";
import type { Json } from "./json";

/** Everything that a game saves about a workspace, as one JSON text. */
export interface WorkspaceDocument {
  /** A random id, so that the ids and keys of this document differ from those of an earlier document of the workspace. */
  readonly id: string;
  /** The number of the newest timer or message of this document. */
  counter: number;
  /** The game's states by channel id; the key is "" if the game has one state for each workspace. */
  states: Record<string, Json>;
  timers: WaitingTimer[];
  /** Questions that wait for an answer, oldest first. */
  asked: AskedQuestion[];
  /** The ids of messages by their numbers, oldest first: the newest messages, and those that the document mentions. */
  messages: (readonly [number: number, id: string])[];
  /** The newest deliveries whose effect this document contains, oldest first. */
  handled: string[];
  /** Events that may not have been published yet. */
  outbox: OutboxEntry[];
  /** The time from which core has refused all events because it does not know the workspace, ms since the epoch. */
  goneSinceMs?: number;
}

/** The channel of a turn, and the member whose event led to the turn. */
export interface Place {
  /** Id of the channel; `dm:` and a member's id in a direct conversation. */
  readonly channel?: string | undefined;
  readonly user?: { readonly id: string; readonly name: string } | undefined;
}

export interface WaitingTimer {
  readonly id: string;
  /** The name of the timer in the game. */
  readonly name: string;
  readonly payload?: Json | undefined;
  readonly place: Place;
  readonly atMs: number;
  /** Number of failures of its handler. */
  readonly failures?: number | undefined;
}

export interface AskedQuestion {
  /** The name of the answer in the game. */
  readonly name: string;
  readonly payload?: Json | undefined;
  /** The message that asks. */
  readonly message: string;
  readonly channel: string;
  /** The member who is asked; undefined if any member of the channel can answer. */
  readonly user?: string | undefined;
  readonly untilMs?: number | undefined;
}

/** An event to publish. */
export interface OutboxEntry {
  /** The idempotency key without the group. */
  readonly key: string;
  /** Time at which the entry was written, ms since the epoch. Keys are valid for 24 hours. */
  readonly atMs: number;
  /** The delivery that caused the event; undefined for a timer. */
  readonly deliveryId?: string | undefined;
  readonly traceparent?: string | undefined;
  readonly output: Output;
}

/** The content of an event, and the place where it is shown. `message` is a `MessageRef`. */
export type Output =
  | {
      readonly type: "create";
      readonly channel: string;
      readonly message: string;
      readonly content: MessageContent;
    }
  | { readonly type: "update"; readonly message: string; readonly content: MessageContent }
  | {
      readonly type: "ephemeral";
      readonly channel: string;
      readonly user: string;
      readonly content: MessageContent;
      /** The message whose id is added to the data. */
      readonly about?: string | undefined;
    }
  | {
      readonly type: "dm";
      readonly user: string;
      readonly message: string;
      readonly content: MessageContent;
    };

/** Returns a document without state. */
export function emptyDocument(id: string): WorkspaceDocument {
  return {
    id,
    counter: 0,
    states: withoutPrototype({}),
    timers: [],
    asked: [],
    messages: [],
    handled: [],
    outbox: [],
  };
}

/**
 * Returns whether the handlers had no effect, so that the draft differs from its document only in the ids of
 * deliveries.
 */
export function hasOnlyHandled(document: WorkspaceDocument, draft: WorkspaceDocument): boolean {
  const isSame = (a: readonly unknown[], b: readonly unknown[]): boolean =>
    a.length === b.length && a.every((each, i) => each === b[i]);
  return (
    document.counter === draft.counter &&
    isSame(Object.entries(document.states).flat(), Object.entries(draft.states).flat()) &&
    isSame(document.timers, draft.timers) &&
    isSame(document.asked, draft.asked) &&
    isSame(document.outbox, draft.outbox)
  );
}

/** Returns a draft of a document. Changes of the draft do not change the document. */
export function draftOf(document: WorkspaceDocument): WorkspaceDocument {
  return {
    ...document,
    states: withoutPrototype(document.states),
    timers: [...document.timers],
    asked: [...document.asked],
    messages: [...document.messages],
    handled: [...document.handled],
    outbox: [...document.outbox],
  };
}

/** Copies states into an object in which a channel can have any id, e.g. `__proto__` or `constructor`. */
function withoutPrototype(states: WorkspaceDocument["states"]): WorkspaceDocument["states"] {
  return Object.assign(Object.create(null) as WorkspaceDocument["states"], states);
}
