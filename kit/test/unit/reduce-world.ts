import * as fc from "fast-check";
import type { OutboundEvent } from "../../events";
import { reduce } from "../../reduce";
import type { Reduced } from "../../reduce-draft";
import type { BridgeEffect, BridgeInput } from "../../reduce-effect";
import { initialState, type BridgeState } from "../../reduce-state";
import { create, dm, ephemeral, ping, START_MS, update } from "./reduce-events";

/** An effect that calls the chat. */
export type ChatCall = Exclude<BridgeEffect, { type: "skip" | "missed" }>;

/** The visible messages by id, each with its text and its place: a channel, or `dm:` and a user id. */
export type Shown = ReadonlyMap<string, { readonly place: string; readonly text: string }>;

/** Returns a chat tool that executes every call, even a call that the contract's rules forbid. */
export function createChat() {
  const posts: { place: string; messageId: string; sequences: number[]; text: string }[] = [];
  const whispers: number[] = [];
  return {
    posts,
    /** Sequences of the ephemerals that were shown. */
    whispers,
    /** Executes a call. Returns the chat's id for the message; "" for an ephemeral. */
    take(call: ChatCall): string {
      const { sequence, message } = call.event;
      if (call.type === "ephemeral") {
        whispers.push(sequence);
        return "";
      }
      if (call.type === "edit") {
        const post = posts[Number(call.chatMessageId)];
        if (post?.messageId !== message.id)
          throw new Error("the edit is for another message, or for a message that was not posted");
        post.sequences.push(sequence);
        post.text = message.text;
        return call.chatMessageId;
      }
      const { id: messageId, text } = message;
      posts.push({ place: placeOf(call.event), messageId, sequences: [sequence], text });
      return String(posts.length - 1);
    },
    shown(): Shown {
      return new Map(posts.map(({ messageId, place, text }) => [messageId, { place, text }]));
    },
  };
}

/** Returns the messages that a chat shows if it gets all events in order, and accepts every call. */
export function shownInOrder(events: readonly OutboundEvent[]): Shown {
  const shown = new Map<string, { place: string; text: string }>();
  for (const event of events.toSorted((a, b) => a.sequence - b.sequence)) {
    if (event.type === "ping" || event.type === "message.ephemeral") continue;
    const { id, text } = event.message;
    if (event.type !== "message.update" || shown.has(id)) shown.set(id, { place: placeOf(event), text });
  }
  return shown;
}

export function placeOf(event: Exclude<OutboundEvent, { type: "ping" }>): string {
  return event.type === "dm.create" ? `dm:${event.user}` : event.channel;
}

const PLACES = ["c1", "c2", "dm:u1"] as const;

/** Generates the events of one run of the service: a few messages in a few places, with rising sequences. */
export function serviceRun(
  expiresAtMs: fc.Arbitrary<number | undefined>,
  eventsMost = 14,
): fc.Arbitrary<readonly OutboundEvent[]> {
  const step = fc.record({
    what: fc.constantFrom("create", "create", "update", "update", "update", "ephemeral", "ping"),
    place: fc.constantFrom(...PLACES),
    which: fc.nat(),
    expiresAtMs,
  });
  return fc.array(step, { minLength: 1, maxLength: eventsMost }).map((steps) => {
    const made: { messageId: string; place: string }[] = [];
    return steps.map(({ what, place, which, expiresAtMs }, index) => {
      const sketch = { sequence: index + 1, ...(expiresAtMs !== undefined && { expiresAtMs }) };
      if (what === "ping") return ping(sketch);
      if (what === "ephemeral") return ephemeral("c1", sketch);
      const target = made[which % Math.max(1, made.length)];
      if (what === "update" && target !== undefined) {
        return update({ ...sketch, messageId: target.messageId }, target.place);
      }
      made.push({ messageId: `msg_${sketch.sequence}`, place });
      return place === "dm:u1" ? dm("u1", sketch) : create(place, sketch);
    });
  });
}

/** One arrival of an event; `atMs` is in ms after `START_MS`. An event can arrive several times, or never. */
export interface Arrival {
  readonly event: OutboundEvent;
  readonly atMs: number;
}

/** Generates arrivals within `delayMaxMs` after `START_MS`, in any order, with repeats and losses. */
export function arrivals(
  events: readonly OutboundEvent[],
  delayMaxMs: number,
): fc.Arbitrary<readonly Arrival[]> {
  const times = fc.array(fc.nat(delayMaxMs), { maxLength: 3 });
  return fc
    .array(times, { minLength: events.length, maxLength: events.length })
    .map((all) => events.flatMap((event, index) => (all[index] ?? []).map((atMs) => ({ event, atMs }))));
}

type Mood = { readonly tookMs: number; readonly refuses: boolean };

/** Generates the chat's answers to the first calls, in order. The chat accepts all further calls immediately. */
export function moods(): fc.Arbitrary<readonly Mood[]> {
  return fc.array(fc.record({ tookMs: fc.nat(3000), refuses: fc.boolean() }), { maxLength: 30 });
}

/** One call to the chat. Times are in ms after `START_MS`. */
export interface Call {
  readonly call: ChatCall;
  readonly fromMs: number;
  readonly toMs: number;
  readonly refused: boolean;
}

export type History = ReturnType<typeof runWorld>;

/** Runs `reduce` with all arrivals and the chat's answers, in chronological order. Returns all that happened. */
export function runWorld(
  arrivals: readonly Arrival[],
  moods: readonly Mood[],
  mayRefuse: (call: ChatCall) => boolean = () => true,
) {
  const chat = createChat();
  const calls: Call[] = [];
  const skips: Extract<BridgeEffect, { type: "skip" }>[] = [];
  const steps: { state: BridgeState; input: BridgeInput; reduced: Reduced }[] = [];
  const due: { atMs: number; input: () => BridgeInput }[] = arrivals.map(({ event, atMs }) => ({
    atMs,
    input: () => ({ type: "events", events: [event], nowMs: START_MS + atMs }),
  }));
  let state = initialState();
  let wakeAtMs: number | undefined;

  function begin(call: ChatCall, fromMs: number): void {
    const mood = moods[calls.length] ?? { tookMs: 0, refuses: false };
    const refused = mood.refuses && mayRefuse(call);
    const toMs = fromMs + mood.tookMs;
    calls.push({ call, fromMs, toMs, refused });
    due.push({
      atMs: toMs,
      input: () => {
        const answer = { eventId: call.event.id, nowMs: START_MS + toMs };
        if (refused) return { type: "refused", ...answer };
        const chatMessageId = chat.take(call);
        const isPost = call.type === "post" || call.type === "dm";
        return isPost ? { type: "posted", chatMessageId, ...answer } : { type: "done", ...answer };
      },
    });
  }

  while (steps.length < 10_000) {
    due.sort((a, b) => a.atMs - b.atMs);
    const next = due[0];
    const isWake = wakeAtMs !== undefined && (next === undefined || wakeAtMs - START_MS <= next.atMs);
    if (!isWake) due.shift();
    if (!isWake && next === undefined) return { chat, calls, skips, state, steps };
    const input: BridgeInput =
      isWake && wakeAtMs !== undefined
        ? { type: "time", nowMs: wakeAtMs }
        : (next?.input() ?? { type: "time", nowMs: START_MS });
    const reduced = reduce(state, input);
    steps.push({ state, input, reduced });
    ({ state, wakeAtMs } = reduced);
    if (wakeAtMs !== undefined && wakeAtMs <= input.nowMs)
      throw new Error("the reducer returned a `wakeAtMs` that is not in the future");
    for (const effect of reduced.effects) {
      if (effect.type === "skip") skips.push(effect);
      else if (effect.type !== "missed") begin(effect, input.nowMs - START_MS);
    }
  }
  throw new Error("the reducer never settles");
}
