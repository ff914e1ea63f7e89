import { WireType } from "@bufbuild/protobuf/wire";
import {
  BridgeServiceService,
  FieldViolation,
  PollRequest,
  type ReceiveRequest,
} from "../../proto/gen/chatbridge/v1/bridge";
import { LANE_METHOD } from "../../proto/lane-method";
import { bytesTo, eachField, tagOf, textTo, WireReader } from "./wire-fields";

/**
 * A `ReceiveRequest` with the bytes of the event as the edge sent them. Core stores these bytes, and decodes only the
 * event's id.
 */
export type ReceiveCall = Omit<ReceiveRequest, "reading"> & {
  reading: Exclude<ReceiveRequest["reading"], { $case: "event" }> | { $case: "event"; value: Buffer };
};

/** A `LaneCall` as core reads it. */
export interface LaneCall {
  readonly number: number;
  readonly call:
    | { readonly $case: "receive"; readonly value: ReceiveCall }
    | { readonly $case: "poll"; readonly value: PollRequest }
    | undefined;
  /** The trace context of the edge's span for the request; empty when the request is not sampled. */
  readonly traceparent: string;
}

/** A `LaneRequest` as core reads it. The buffers in the calls are slices of the message. */
export interface LaneRequest {
  readonly calls: readonly LaneCall[];
}

/** The generated `BridgeService`, except that events are not decoded, because core would have to encode them again. */
export const BRIDGE_METHODS = {
  ...BridgeServiceService,
  receive: {
    ...BridgeServiceService.receive,
    requestDeserialize: (bytes: Buffer) => readReceive(new WireReader(bytes), bytes.length),
  },
  lane: { ...LANE_METHOD, requestDeserialize: readLane },
} as const;

/** The tags of the fields that core reads. The numbers are those in bridge.proto. */
const CALLS = tagOf(1, WireType.LengthDelimited);
const CALL = {
  number: tagOf(1, WireType.Varint),
  receive: tagOf(2, WireType.LengthDelimited),
  poll: tagOf(3, WireType.LengthDelimited),
  traceparent: tagOf(4, WireType.LengthDelimited),
} as const;
const RECEIVE = {
  workspaceId: tagOf(1, WireType.LengthDelimited),
  sourceAddress: tagOf(2, WireType.LengthDelimited),
  signature: tagOf(3, WireType.LengthDelimited),
  body: tagOf(4, WireType.LengthDelimited),
  event: tagOf(5, WireType.LengthDelimited),
  violation: tagOf(6, WireType.LengthDelimited),
} as const;
const NO_BYTES = Buffer.alloc(0);

/**
 * Decodes a `LaneRequest`. Like the generated code, throws when the bytes are not a message. If an event is faulty,
 * only the call with that event fails.
 */
function readLane(bytes: Buffer): LaneRequest {
  const reader = new WireReader(bytes);
  const calls: LaneCall[] = [];
  eachField(reader, bytes.length, (tag, end) => {
    if (tag === CALLS) calls.push(readCall(reader, end));
  });
  return { calls };
}

function readCall(reader: WireReader, callEnd: number): LaneCall {
  let number = 0;
  let call: LaneCall["call"];
  let traceparent = "";
  eachField(reader, callEnd, (tag, end) => {
    switch (tag) {
      case CALL.number:
        number = reader.uint32();
        break;
      case CALL.receive:
        call = { $case: "receive", value: readReceive(reader, end) };
        break;
      case CALL.poll:
        call = { $case: "poll", value: PollRequest.decode(reader, end - reader.pos) };
        break;
      case CALL.traceparent:
        traceparent = textTo(reader, end);
        break;
    }
  });
  return { number, call, traceparent };
}

function readReceive(reader: WireReader, requestEnd: number): ReceiveCall {
  const request: ReceiveCall = {
    workspaceId: "",
    sourceAddress: "",
    signature: undefined,
    body: NO_BYTES,
    reading: undefined,
  };
  eachField(reader, requestEnd, (tag, end) => {
    switch (tag) {
      case RECEIVE.workspaceId:
        request.workspaceId = textTo(reader, end);
        break;
      case RECEIVE.sourceAddress:
        request.sourceAddress = textTo(reader, end);
        break;
      case RECEIVE.signature:
        request.signature = textTo(reader, end);
        break;
      case RECEIVE.body:
        request.body = bytesTo(reader, end);
        break;
      case RECEIVE.event:
        request.reading = { $case: "event", value: bytesTo(reader, end) };
        break;
      case RECEIVE.violation:
        request.reading = { $case: "violation", value: FieldViolation.decode(reader, end - reader.pos) };
        break;
    }
  });
  return request;
}
