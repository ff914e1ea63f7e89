import type {
  DmCreate,
  EventHead,
  Message,
  MessageCreate,
  MessageEphemeral,
  MessageUpdate,
  OutboundEvent,
  Ping,
} from "../../events";
import { reduce } from "../../reduce";
import type { BridgeInput } from "../../reduce-effect";
import { initialState, isSettled, type BridgeLimits } from "../../reduce-state";

/** The creation time of the tests' events, ms since the epoch. */
export const START_MS = Date.UTC(2025, 0, 2);

/** A short description of an event: its sequence, alone or with other fields. Times are in ms after `START_MS`. */
export type Sketch = number | EventSketch;
interface EventSketch {
  readonly sequence: number;
  readonly messageId?: string;
  readonly text?: string;
  readonly expiresAtMs?: number;
}

export function create(channel: string, sketch: Sketch): MessageCreate {
  return { ...headOf(sketch), type: "message.create", channel, message: messageOf(sketch) };
}

export function dm(user: string, sketch: Sketch): DmCreate {
  return { ...headOf(sketch), type: "dm.create", user, message: messageOf(sketch) };
}

/** Returns an update of the message `msg_1`, or of the sketch's `messageId`. */
export function update(sketch: Sketch, channel = "c1"): MessageUpdate {
  const message = messageOf(sketch, "msg_1");
  return { ...headOf(sketch), type: "message.update", channel, message };
}

export function ephemeral(channel: string, sketch: Sketch): MessageEphemeral {
  const head = headOf(sketch);
  return { ...head, type: "message.ephemeral", channel, user: "u1", message: messageOf(sketch) };
}

export function ping(sketch: Sketch): Ping {
  return { ...headOf(sketch), type: "ping" };
}

const full = (sketch: Sketch): EventSketch => (typeof sketch === "number" ? { sequence: sketch } : sketch);

function headOf(sketch: Sketch): Omit<EventHead, "type"> {
  const { sequence, expiresAtMs } = full(sketch);
  return {
    id: `evt_${sequence}`,
    workspace: "11111111-2222-4333-8444-555555555555",
    sequence,
    createdAt: new Date(START_MS).toISOString(),
    expiresAt: expiresAtMs === undefined ? null : new Date(START_MS + expiresAtMs).toISOString(),
  };
}

function messageOf(sketch: Sketch, otherwise = `msg_${full(sketch).sequence}`): Message {
  const { sequence, messageId: id = otherwise, text = `text ${sequence}` } = full(sketch);
  return { id, kind: "card", text, buttons: [], image: null, awaitsReply: false, data: null };
}

/** An input without its time. */
type What<Input = BridgeInput> = Input extends BridgeInput ? Omit<Input, "nowMs"> : never;

/** Returns a reducer with its state. Times are in ms after `START_MS`. Effects are short strings such as "post 1". */
export function run(limits?: Partial<BridgeLimits>) {
  let state = initialState(limits);
  let wakeAtMs: number | undefined;
  function at(ms: number, input: What): readonly string[] {
    const reduced = reduce(state, { ...input, nowMs: START_MS + ms });
    ({ state } = reduced);
    wakeAtMs = reduced.wakeAtMs === undefined ? undefined : reduced.wakeAtMs - START_MS;
    return reduced.effects.map((effect) => {
      if (effect.type === "missed") return "missed";
      const target = effect.type === "edit" ? ` of ${effect.chatMessageId}` : "";
      const why = effect.type === "skip" ? `: ${effect.reason}` : "";
      return `${effect.type} ${effect.event.sequence}${target}${why}`;
    });
  }
  return {
    events: (ms: number, ...events: OutboundEvent[]) => at(ms, { type: "events", events }),
    posted: (ms: number, sequence: number) =>
      at(ms, { type: "posted", eventId: `evt_${sequence}`, chatMessageId: `chat${sequence}` }),
    done: (ms: number, sequence: number) => at(ms, { type: "done", eventId: `evt_${sequence}` }),
    refused: (ms: number, sequence: number, retryAfterMs = 0) =>
      at(ms, { type: "refused", eventId: `evt_${sequence}`, retryAfterMs }),
    time: (ms: number) => at(ms, { type: "time" }),
    isSettled: () => isSettled(state),
    wakeAt: () => wakeAtMs,
  };
}

/** Returns a reducer that has posted one message for each of `sequences`; by default, only for sequence 1. */
export function runPosted(limits?: Partial<BridgeLimits>, ...sequences: readonly number[]) {
  const bridge = run(limits);
  for (const sequence of sequences.length === 0 ? [1] : sequences) {
    bridge.events(0, create("c1", sequence));
    bridge.posted(0, sequence);
  }
  return bridge;
}
