import type { OutboundFault } from "../domain/outbound-rules";
import type { EventFence } from "../domain/outbound-event";
import { shardOf } from "../domain/shard";
import { parseStreamId } from "../domain/stream-id";
import type { Fence } from "../ports/outbound-events";
import { parseDeliveryId } from "./in-flight";

/** Returns the fence in the form that the store checks, or the first rule that the fence breaks. */
export function readFence(
  { streamId, deliveryId, attempt }: EventFence,
  workspaceId: string,
  shards: number,
): { readonly fence: Fence } | { readonly fault: OutboundFault } {
  const stream = parseStreamId(streamId);
  if (stream === undefined) return fault("stream_id", "must be the stream_id of a FollowOpened");
  if (deliveryId === "") {
    if (attempt !== 0) return fault("attempt", "must be 0 if delivery_id is empty");
    return { fence: { ...stream, delivery: undefined } };
  }
  const delivery = parseDeliveryId(deliveryId, shards);
  if (delivery === undefined) return fault("delivery_id", "must be the delivery_id of a Delivery, or empty");
  if (delivery.shard !== shardOf(workspaceId, shards)) {
    return fault("delivery_id", "must be of a delivery of the event's workspace");
  }
  if (attempt === 0) return fault("attempt", "must be the attempt of the Delivery that delivery_id names");
  return { fence: { ...stream, delivery: { entryId: delivery.entryId, attempt } } };
}

function fault(name: string, rule: string): { readonly fault: OutboundFault } {
  const field = `fence.${name}`;
  return { fault: { field, message: `${field} ${rule}` } };
}
