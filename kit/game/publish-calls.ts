import { PUBLISH_BATCH_MAX } from "../../core/domain/bounds";
import { OutboundEvent } from "../../proto/gen/chatbridge/v1/game";

/** Maximum bytes of all events in a call, unless the call contains only one event. Core accepts 8 MB. */
const CALL_MAX_BYTES = 4_194_304;

/** Maximum bytes that a request contains for each event in addition to the event itself: a tag and a length. */
const FRAME_MAX_BYTES = 5;

/** The events of a call, and the number of bytes that they take in the request. */
export interface PublishCall {
  readonly events: readonly OutboundEvent[];
  readonly bytes: number;
}

/** Splits events into calls of at most `PUBLISH_BATCH_MAX` events and 4 MB, in order. */
export function publishCalls(events: readonly OutboundEvent[]): readonly PublishCall[] {
  const calls: { events: OutboundEvent[]; bytes: number }[] = [];
  for (const event of events) {
    const size = sizeOf(event);
    const call = calls.at(-1);
    if (
      call === undefined ||
      call.events.length === PUBLISH_BATCH_MAX ||
      call.bytes + size > CALL_MAX_BYTES
    ) {
      calls.push({ events: [event], bytes: size });
    } else {
      call.events.push(event);
      call.bytes += size;
    }
  }
  return calls;
}

/** Whether an event is so large that a call with only this event can be too large. */
export function isLarge(event: OutboundEvent): boolean {
  return sizeOf(event) > CALL_MAX_BYTES;
}

const sizeOf = (event: OutboundEvent): number =>
  OutboundEvent.encode(event).finish().length + FRAME_MAX_BYTES;
