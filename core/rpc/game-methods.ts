import { WireType } from "@bufbuild/protobuf/wire";
import { status } from "@grpc/grpc-js";
import { FollowRequest, GameServiceService, OutboundEvent } from "../../proto/gen/chatbridge/v1/game";
import { PUBLISH_BATCH_MAX } from "../domain/contract";
import type { OutboundFault } from "../domain/outbound-rules";
import { StatusError } from "./status";
import { createWireCheck, UNREADABLE, type WireFault } from "./wire-fault";
import { eachField, tagOf, WireReader } from "./wire-fields";

/** A message as it was decoded, or why it was not; the field at fault by its full name. */
export type Decoded<Message> = { readonly message: Message } | { readonly fault: OutboundFault };

/** A PublishEventsRequest whose events are decoded each by itself. */
export interface EventsRequest {
  readonly bytes: number;
  readonly count: number;
  /**
   * The first PUBLISH_BATCH_MAX of them. The handler takes them out: Node keeps a call that is over until it next
   * collects garbage in the whole heap, and with it everything that the call's request still holds.
   */
  readonly events: Decoded<OutboundEvent>[];
}

/**
 * GameService as core reads it: as it is generated, but for requests that cannot be decoded, or not as they were
 * meant. The generated code ends the whole call for them, or changes them silently; here the fault is data, of the
 * event that it is in.
 */
export const GAME_METHODS = {
  ...GameServiceService,
  publishEvents: { ...GameServiceService.publishEvents, requestDeserialize: readEvents },
  follow: {
    ...GameServiceService.follow,
    requestDeserialize: (request: Buffer) => decodeFollow(new WireReader(request), request.length),
  },
} as const;

/** The tag of PublishEventsRequest.events. */
const EVENTS = tagOf(1, WireType.LengthDelimited);
const decodeFollow = createDecoder("chatbridge.v1.FollowRequest", FollowRequest);
const decodeEvent = createDecoder("chatbridge.v1.OutboundEvent", OutboundEvent);

function readEvents(request: Buffer): Decoded<EventsRequest> {
  const events: Decoded<OutboundEvent>[] = [];
  let count = 0;
  try {
    const reader = new WireReader(request);
    eachField(reader, request.length, (tag, end) => {
      if (tag !== EVENTS) return;
      count += 1;
      // A request that is refused for their number is not worth decoding.
      if (count <= PUBLISH_BATCH_MAX) events.push(decodeEvent(reader, end));
    });
  } catch {
    return undecoded(UNREADABLE);
  }
  return { message: { bytes: request.length, count, events } };
}

/** Makes the decoder of a message between where the reader is and an end. */
function createDecoder<Message>(
  typeName: string,
  { decode }: { decode(reader: WireReader, length: number): Message },
): (reader: WireReader, end: number) => Decoded<Message> {
  const findFault = createWireCheck(typeName);
  return (reader, end) => {
    const start = reader.pos;
    const fault = findFault(reader, end);
    if (fault !== undefined) return undecoded(fault);
    try {
      reader.pos = start;
      return { message: decode(reader, end - start) };
    } catch {
      return undecoded(UNREADABLE); // A number of more bytes than numbers have.
    }
  };
}

function undecoded({ field, problem }: WireFault): { readonly fault: OutboundFault } {
  return { fault: { field, message: `${field || "the message"} ${problem}` } };
}

/** The message of a request; throws INVALID_ARGUMENT where it could not be decoded. */
export function messageOf<Message>(request: Decoded<Message>): Message {
  if ("message" in request) return request.message;
  throw new StatusError(status.INVALID_ARGUMENT, request.fault.message);
}
