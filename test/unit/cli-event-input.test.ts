import * as fc from "fast-check";
import { MESSAGE_KINDS } from "../../kit/events";
import { checkEvent, readEventJson, toOutboundEvent, type EventInput } from "../../cli/event-input";
import { EXIT } from "../../cli/exit-code";
import { readOutboundEvent } from "../../core/rpc/outbound-message";
import { ANY_CHARACTER, forAll } from "../harness/for-all";

const MESSAGE = { text: "hi" };

/** Returns the event as core reads it when the input is published. */
function asCoreReads(input: EventInput) {
  const read = readOutboundEvent(toOutboundEvent("w1", input));
  if (!("event" in read)) throw new Error(read.fault.message);
  return read.event;
}

test("core reads every field of an event with the value that the JSON input contains", () => {
  const text = fc.string({ unit: ANY_CHARACTER }).filter((each) => each.isWellFormed());
  const button = fc.oneof(fc.record({ label: text, action: text }), fc.record({ label: text, url: text }));
  const message = fc.record({
    kind: fc.constantFrom(...MESSAGE_KINDS),
    text,
    buttons: fc.array(fc.array(button)),
    image: fc.option(text),
    awaitsReply: fc.boolean(),
    data: fc.option(fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.boolean(), fc.constant(null)))),
  });
  const input = fc.oneof(
    fc.record({ type: fc.constant("message.create" as const), channel: text, message }),
    fc.record({ type: fc.constant("message.ephemeral" as const), channel: text, user: text, message }),
    fc.record({ type: fc.constant("dm.create" as const), user: text, message }),
  );
  forAll(input, text, fc.integer({ min: 1, max: 86_400_000 }), (event, idempotencyKey, lifetimeMs) => {
    const read = asCoreReads(
      readEventJson(JSON.stringify({ ...event, idempotencyKey, lifetimeSeconds: lifetimeMs / 1000 })),
    );
    expect(read.content).toEqual(JSON.parse(JSON.stringify(event)));
    expect(read.idempotencyKey).toBe(idempotencyKey);
    expect(read.lifetimeMs).toBeCloseTo(lifetimeMs, 3);
  });
});

test("an update is published with the id of the message that it updates", () => {
  const event = checkEvent({ type: "message.update", channel: "c1", message: { id: "msg_1", text: "new" } });
  const update = { type: "message.update", channel: "c1", messageId: "msg_1" };
  expect(asCoreReads(event).content).toMatchObject(update);
});

test.each<[string, EventInput["message"], string]>([
  ["plain text has the kind text", { text: "hi" }, "text"],
  ["a message with buttons is a card", { text: "hi", buttons: [[{ label: "a", action: "b" }]] }, "card"],
  ["a message with data is a card", { text: "hi", data: {} }, "card"],
  ["a given kind is kept", { text: "hi", kind: "help" }, "help"],
])("%s", (_what, message, kind) => {
  const { content } = asCoreReads({ channel: "c1", message });
  expect(content).toMatchObject({ type: "message.create", message: { kind } });
});

const TWICE = { label: "a", action: "b", url: "https://c.example" };

test.each<[string, unknown, RegExp]>([
  ["an event without a message", {}, /must have required property 'message'/],
  ["a message without a text", { message: {} }, /^message must have required property 'text'/],
  ["an unknown field", { message: MESSAGE, chanel: "c1" }, /^the event must not have chanel/],
  ["an unknown field of a message", { message: { ...MESSAGE, txt: "" } }, /^message must not have txt/],
  ["an unknown kind", { message: { ...MESSAGE, kind: "crad" } }, /^message\.kind .*card/],
  ["a type that cannot be published", { type: "ping", message: MESSAGE }, /^type .*message\.create/],
  [
    "a button with an action and a URL",
    { message: { ...MESSAGE, buttons: [[TWICE]] } },
    /^message\.buttons\.0\.0 /,
  ],
  ["a list", [], /^the event must be object/],
])("%s is rejected, and the error names the faulty part of the event", (_what, value, words) => {
  const failure = { exitCode: EXIT.DATA, message: expect.stringMatching(words) as string };
  expect(() => checkEvent(value)).toThrow(expect.objectContaining(failure) as Error);
});
