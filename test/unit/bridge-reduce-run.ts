import type { OutboundEvent } from "../../bridge/events";
import { reduce } from "../../bridge/reduce";
import type { BridgeInput } from "../../bridge/reduce-effect";
import { initialState, isSettled, lastingState, type BridgeLimits } from "../../bridge/reduce-state";
import { START_MS } from "./bridge-reduce-events";

/** What an update of the message of event 1 names. */
export const OF_1 = { messageId: "msg_1" };

/** An input without its time. */
type What<Input = BridgeInput> = Input extends BridgeInput ? Omit<Input, "nowMs"> : never;

/** A reducer at work; times are ms after the start, effects short texts such as "post 1". */
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
    at,
    events: (ms: number, ...events: OutboundEvent[]) => at(ms, { type: "events", events }),
    posted: (ms: number, sequence: number) =>
      at(ms, { type: "posted", eventId: `evt_${sequence}`, chatMessageId: `chat${sequence}` }),
    done: (ms: number, sequence: number) => at(ms, { type: "done", eventId: `evt_${sequence}` }),
    refused: (ms: number, sequence: number, retryAfterMs = 0) =>
      at(ms, { type: "refused", eventId: `evt_${sequence}`, retryAfterMs }),
    time: (ms: number) => at(ms, { type: "time" }),
    isSettled: () => isSettled(state),
    wakeAt: () => wakeAtMs,
    restart: () => void (state = lastingState(state)),
  };
}
