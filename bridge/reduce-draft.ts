import type { MessageEphemeral, OutboundEvent } from "./events";
import type { BridgeEffect, SkipReason } from "./reduce-effect";
import { remember, type Memory } from "./reduce-memory";
import type { BridgeState, MessageFate, OpenCreate, OpenUpdate } from "./reduce-state";

type ToDo = Exclude<BridgeEffect, { type: "skip" }>;

/** A state while it is being changed, and what comes of it. */
export interface Draft {
  readonly nowMs: number;
  readonly limits: BridgeState["limits"];
  settled: Memory<true>;
  messages: Memory<MessageFate>;
  creates: readonly OpenCreate[];
  readonly updates: Map<string, OpenUpdate>;
  readonly ephemerals: Map<string, MessageEphemeral>;
  readonly skips: BridgeEffect[];
  readonly toDo: ToDo[];
  /** Infinity for never. */
  wakeAtMs: number;
}

/** What follows from an input. */
export interface Reduced {
  readonly state: BridgeState;
  /** In order of sequence, skips first. */
  readonly effects: readonly BridgeEffect[];
  /** When to come back with `time`, ms since the epoch, if nothing comes before; undefined: no need to. */
  readonly wakeAtMs: number | undefined;
}

export function openDraft(state: BridgeState, nowMs: number): Draft {
  const copies = { updates: new Map(state.updates), ephemerals: new Map(state.ephemerals) };
  return { ...state, ...copies, nowMs, skips: [], toDo: [], wakeAtMs: Infinity };
}

export function closeDraft(draft: Draft): Reduced {
  const { limits, settled, messages, creates, updates, ephemerals, skips, toDo, wakeAtMs } = draft;
  const inOrder = toDo.toSorted((a, b) => sequenceOf(a) - sequenceOf(b));
  return {
    state: { limits, settled, messages, creates, updates, ephemerals },
    effects: [...skips, ...inOrder],
    wakeAtMs: wakeAtMs === Infinity ? undefined : wakeAtMs,
  };
}

/** The event needs nothing more. */
export function settle(draft: Draft, event: OutboundEvent): void {
  draft.settled = remember(draft.settled, event.id, true);
}

/** The event changes nothing in the chat, and needs nothing more. */
export function drop(draft: Draft, event: OutboundEvent, reason: SkipReason): void {
  settle(draft, event);
  draft.skips.push({ type: "skip", event, reason });
}

export function wakeBy(draft: Draft, atMs: number): void {
  draft.wakeAtMs = Math.min(draft.wakeAtMs, atMs);
}

/** The last moment at which the event is fresh, ms since the epoch; Infinity for never stale. */
export function freshUntilMs({ expiresAt }: OutboundEvent): number {
  const atMs = expiresAt === null ? Infinity : Date.parse(expiresAt);
  return Number.isNaN(atMs) ? Infinity : atMs;
}

function sequenceOf(effect: ToDo): number {
  return "event" in effect ? effect.event.sequence : 0;
}
