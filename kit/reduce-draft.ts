import { backOffMs } from "./back-off";
import type { OutboundEvent } from "./events";
import type { BridgeEffect, SkipReason } from "./reduce-effect";
import { remember, type Memory } from "./reduce-memory";
import {
  BRIDGE_LIMITS,
  type BridgeState,
  type MessageFate,
  type OpenCreate,
  type OpenEphemeral,
  type OpenUpdate,
} from "./reduce-state";

type ToDo = Exclude<BridgeEffect, { type: "skip" }>;

/** A mutable copy of a state. `reduce` applies an input to this copy, and adds the input's effects to the copy. */
export interface Draft {
  readonly nowMs: number;
  readonly limits: BridgeState["limits"];
  settled: Memory<true>;
  messages: Memory<MessageFate>;
  creates: readonly OpenCreate[];
  readonly updates: Map<string, OpenUpdate>;
  readonly ephemerals: Map<string, OpenEphemeral>;
  /** Keys of the creates that were skipped as `full`: see `skipKeys`. */
  readonly full: Set<string>;
  readonly skips: BridgeEffect[];
  readonly toDo: ToDo[];
  /** Time at which the next `time` input is due, ms since the epoch; Infinity for never. */
  wakeAtMs: number;
}

/** The result of applying an input. */
export interface Reduced {
  readonly state: BridgeState;
  /** The `skip` effects come first, then the other effects in order of sequence. */
  readonly effects: readonly BridgeEffect[];
  /** Time at which a `time` input is due, unless another input comes first, ms since the epoch; undefined for never. */
  readonly wakeAtMs: number | undefined;
}

export function openDraft(state: BridgeState, nowMs: number, full: Iterable<string> = []): Draft {
  const copies = {
    // A state that was saved by an older release of the kit lacks some limits.
    limits: { ...BRIDGE_LIMITS, ...state.limits },
    updates: new Map(state.updates),
    ephemerals: new Map(state.ephemerals),
    full: new Set(full),
  };
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

/** Marks an event as completed. */
export function settle(draft: Draft, event: OutboundEvent): void {
  draft.settled = remember(draft.settled, event.id, true);
}

/** Marks an event as completed, and adds a `skip` effect with the reason. */
export function drop(draft: Draft, event: OutboundEvent, reason: SkipReason): void {
  settle(draft, event);
  draft.skips.push({ type: "skip", event, reason });
}

export function wakeBy(draft: Draft, atMs: number): void {
  draft.wakeAtMs = Math.min(draft.wakeAtMs, atMs);
}

const RETRY = { firstMs: 1_000, mostMs: 30_000 };

/** Returns when to retry a call that the chat has refused `refusals` times, in ms since the epoch. */
export function retryAtMs({ nowMs }: Draft, refusals: number, retryAfterMs: number): number {
  return nowMs + Math.max(backOffMs(refusals, RETRY, 0), retryAfterMs);
}

/** Returns `expiresAt` as ms since the epoch; Infinity if `expiresAt` is null or not a valid date. */
export function freshUntilMs({ expiresAt }: OutboundEvent): number {
  const atMs = expiresAt === null ? Infinity : Date.parse(expiresAt);
  return Number.isNaN(atMs) ? Infinity : atMs;
}

function sequenceOf(effect: ToDo): number {
  return "event" in effect ? effect.event.sequence : 0;
}
