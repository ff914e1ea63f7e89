import { PUBLISH_BATCH_MAX } from "../../core/domain/bounds";
import { OutboundEvent } from "../../proto/gen/chatbridge/v1/game";

/** Maximum bytes of the events of a call with several events. Core accepts 8 MB. */
const CALL_MAX_BYTES = 4_194_304;

/** Splits events into calls of at most `PUBLISH_BATCH_MAX` events and 4 MB, in order. */
export function publishCalls(events: readonly OutboundEvent[]): readonly (readonly OutboundEvent[])[] {
  const calls: OutboundEvent[][] = [];
  let call: OutboundEvent[] = [];
  let bytes = 0;
  for (const event of events) {
    const size = sizeOf(event);
    if (call.length > 0 && (call.length === PUBLISH_BATCH_MAX || bytes + size > CALL_MAX_BYTES)) {
      calls.push(call);
      call = [];
      bytes = 0;
    }
    call.push(event);
    bytes += size;
  }
  if (call.length > 0) calls.push(call);
  return calls;
}

/** Whether an event is so large that a call with only this event can be too large. */
export function isLarge(event: OutboundEvent): boolean {
  return sizeOf(event) > CALL_MAX_BYTES;
}

const sizeOf = (event: OutboundEvent): number => OutboundEvent.encode(event).finish().length;
