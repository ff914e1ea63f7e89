import * as fc from "fast-check";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { BRIDGE_METHODS, type LaneCall as CoreCall } from "../../core/rpc/bridge-methods";
import {
  LaneFault,
  LaneResponse,
  ReceiveRequest,
  Refusal,
  type LaneAnswer,
  type LaneCall,
} from "../../proto/gen/chatbridge/v1/bridge";
import { InboundEvent } from "../../proto/gen/chatbridge/v1/event";
import { LANE_METHOD, type PageAnswer } from "../../proto/lane-method";
import { ANY_CHARACTER, forAll } from "../harness/for-all";

const { requestSerialize, requestDeserialize } = BRIDGE_METHODS.lane;
const number = fc.integer({ min: 0, max: 2 ** 32 - 1 });
/**
 * Bodies so long that the varint of their length takes three bytes. The longer body also makes a message's buffer grow.
 */
const large = fc.constantFrom(16_500, 150_000).map((bytes) => new Uint8Array(bytes).fill(7));
const page: fc.Arbitrary<PageAnswer> = fc.record({
  number,
  page: fc.record({
    body: fc.oneof(fc.uint8Array({ maxLength: 300 }), large),
    signature: fc.string({ unit: ANY_CHARACTER }),
    workspaceId: fc.string(),
  }),
});
const refused = { refusal: Refusal.WORKSPACE_LIMIT, violation: undefined, retryAfterSeconds: 3 };
const other: fc.Arbitrary<LaneAnswer> = fc.record({
  number,
  answer: fc.constantFrom<LaneAnswer["answer"]>(
    { $case: "fault", value: LaneFault.UNAVAILABLE },
    { $case: "receive", value: { outcome: { $case: "accepted", value: { repeated: true } } } },
    { $case: "poll", value: { outcome: { $case: "refused", value: refused } } },
  ),
});

function asGenerated(answer: LaneAnswer | PageAnswer): LaneAnswer {
  if (!("page" in answer)) return answer;
  const { number: of, page: value } = answer;
  return { number: of, answer: { $case: "poll", value: { outcome: { $case: "page", value } } } };
}

test("an answer that core encodes decodes to the same message as an answer that the generated code encodes", () => {
  const messages = fc.record({
    answers: fc.array(fc.oneof(page, other), { maxLength: 8 }),
    closing: fc.boolean(),
  });
  forAll(messages, ({ answers, closing }) => {
    const generated = { answers: answers.map(asGenerated), closing };
    const expected = Buffer.from(LaneResponse.encode(generated).finish());
    // `decode` runs immediately, because the next message reuses the buffer. The test compares the answers after the
    // generated code has decoded and encoded them. Two correct encoders can write different bytes, because one may omit
    // zeroes.
    const read = LaneResponse.decode(LANE_METHOD.responseSerialize({ answers, closing }));
    expect(expected.equals(LaneResponse.encode(read).finish())).toBe(true);
  });
});

const text = fc.string({ unit: ANY_CHARACTER });
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });
const cased = <Case extends string, T>($case: Case, value: fc.Arbitrary<T>) =>
  fc.record({ $case: fc.constant($case), value });
const named = fc.record({ id: text, name: maybe(text) });
const typed = fc.record({ text, replyTo: maybe(text) });
const event: fc.Arbitrary<InboundEvent> = fc.record({
  id: maybe(text),
  channel: maybe(named),
  user: maybe(named),
  kind: maybe(fc.oneof(cased("command", fc.record({ text })), cased("message", typed))),
});
const violation = cased("violation", fc.record({ field: maybe(text), message: text }));
const caller = { workspaceId: text, sourceAddress: text, signature: maybe(text) };
const receive: fc.Arbitrary<ReceiveRequest> = fc.record({
  ...caller,
  body: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  reading: maybe(fc.oneof(cased("event", event), violation)),
});
const poll = fc.record({ ...caller, queryString: text, reading: maybe(violation) });
const calls = fc.oneof(cased("receive", receive), cased("poll", poll));
const call: fc.Arbitrary<LaneCall> = fc.record({ number, call: maybe(calls), traceparent: text });

/** Returns a `ReceiveRequest` as core reads it, but with a decoded event. */
function decoded(value: Extract<CoreCall["call"], { $case: "receive" }>["value"]): ReceiveRequest {
  const { reading } = value;
  if (reading?.$case !== "event") return { ...value, reading };
  return { ...value, reading: { $case: "event", value: InboundEvent.decode(reading.value) } };
}

test("core decodes calls as the generated code does, but keeps each event as the received bytes", () => {
  forAll(fc.array(call, { maxLength: 5 }), (calls) => {
    const { calls: read } = requestDeserialize(requestSerialize({ calls }));
    const asGeneratedCalls = read.map(({ number: of, call: made, traceparent }) => ({
      number: of,
      traceparent,
      call: made?.$case === "receive" ? { ...made, value: decoded(made.value) } : made,
    }));
    expect(asGeneratedCalls).toEqual(calls);
  });
  forAll(receive, (request) => {
    const bytes = Buffer.from(ReceiveRequest.encode(request).finish());
    expect(decoded(BRIDGE_METHODS.receive.requestDeserialize(bytes))).toEqual(request);
  });
});

test("unknown fields inside an event are kept, and unknown fields outside the event are omitted", () => {
  const unknown = new BinaryWriter().tag(99, WireType.LengthDelimited).string("later").finish();
  const later = Buffer.concat([InboundEvent.encode(InboundEvent.create({ id: "r1" })).finish(), unknown]);
  const request = new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .string("w1")
    .tag(5, WireType.LengthDelimited)
    .bytes(later)
    .finish();
  const read = BRIDGE_METHODS.receive.requestDeserialize(Buffer.concat([request, unknown]));
  expect(read).toEqual({
    workspaceId: "w1",
    sourceAddress: "",
    signature: undefined,
    body: Buffer.alloc(0),
    reading: { $case: "event", value: later },
  });
});

test("a lane message that is truncated within a call cannot be decoded", () => {
  const value = ReceiveRequest.create({ workspaceId: "w1", body: Buffer.from("{}") });
  const bytes = requestSerialize({
    calls: [{ number: 1, call: { $case: "receive", value }, traceparent: "" }],
  });
  for (let end = 1; end < bytes.length; end++) {
    expect(() => requestDeserialize(bytes.subarray(0, end))).toThrow();
  }
});
