import { WireType } from "@bufbuild/protobuf/wire";
import { status } from "@grpc/grpc-js";
import { FollowRequest, GameServiceService, OutboundEvent } from "../../proto/gen/chatbridge/v1/game";
import { PUBLISH_BATCH_MAX } from "../domain/bounds";
import type { OutboundFault } from "../domain/outbound-rules";
import { StatusError } from "./status";
import { createWireCheck, UNREADABLE, type WireFault } from "./wire-fault";
import { eachField, tagOf, WireReader } from "./wire-fields";

/** A decoded message, or the fault that prevents decoding, with the full name of the invalid field. */
export type Decoded<Message> = { readonly message: Message } | { readonly fault: OutboundFault };

/** An event of a `PublishEventsRequest`, and its size in the request in bytes. */
export interface SentEvent {
  readonly event: Decoded<OutboundEvent>;
  readonly bytes: number;
}

/** A `PublishEventsRequest` whose events are decoded one by one, when they are read. */
export interface EventsRequest {
  readonly bytes: number;
  readonly count: number;
  /**
   * The first `PUBLISH_BATCH_MAX` events, which can be read only once. After the last event, or when the reader stops
   * early, the request's bytes are released. Otherwise they would stay in memory, because Node keeps a finished call
   * and its request until the next full garbage collection.
   */
  readonly events: Iterable<SentEvent>;
}

/**
 * The generated `GameService`, except for requests that cannot be decoded without loss. The generated code fails the
 * whole call for such a request, or changes the request silently. Here the fault is returned as data, so only the
 * faulty event fails.
 */
export const GAME_METHODS = {
  ...GameServiceService,
  publishEvents: { ...GameServiceService.publishEvents, requestDeserialize: readEvents },
  follow: {
    ...GameServiceService.follow,
    requestDeserialize: (request: Buffer) => decodeFollow(new WireReader(request), request.length),
  },
} as const;

/** The tag of `PublishEventsRequest.events`. */
const EVENTS = tagOf(1, WireType.LengthDelimited);
const decodeFollow = createDecoder("chatbridge.v1.FollowRequest", FollowRequest);
const decodeEvent = createDecoder("chatbridge.v1.OutboundEvent", OutboundEvent);

function readEvents(request: Buffer): Decoded<EventsRequest> {
  const reader = new WireReader(request);
  /** The start and the end of each event in the request. */
  const bounds: { readonly start: number; readonly end: number }[] = [];
  let count = 0;
  try {
    eachField(reader, request.length, (tag, end) => {
      if (tag !== EVENTS) return;
      count += 1;
      // A request with too many events is rejected, so the rest is not decoded.
      if (count <= PUBLISH_BATCH_MAX) bounds.push({ start: reader.pos, end });
    });
  } catch {
    return undecoded(UNREADABLE);
  }
  return { message: { bytes: request.length, count, events: decodeEach({ reader }, bounds) } };
}

/** Decodes the events at the positions in `bounds`, and then releases the request's bytes. */
function* decodeEach(
  source: { reader?: WireReader },
  bounds: readonly { readonly start: number; readonly end: number }[],
): Iterable<SentEvent> {
  try {
    for (const { start, end } of bounds) {
      const { reader } = source;
      if (reader === undefined) return;
      reader.pos = start;
      yield { event: decodeEvent(reader, end), bytes: end - start };
    }
  } finally {
    delete source.reader;
  }
}

/** Returns a function that decodes the message between the reader's position and `end`. */
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
      return undecoded(UNREADABLE); // A varint is too long.
    }
  };
}

function undecoded({ field, problem }: WireFault): { readonly fault: OutboundFault } {
  return { fault: { field, message: `${field || "the message"} ${problem}` } };
}

/** Returns the decoded message of a request. Throws INVALID_ARGUMENT when core could not decode the message. */
export function messageOf<Message>(request: Decoded<Message>): Message {
  if ("message" in request) return request.message;
  throw new StatusError(status.INVALID_ARGUMENT, request.fault.message);
}
