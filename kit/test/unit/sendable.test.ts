import * as fc from "fast-check";
import { sendable } from "../../sendable";
import type { InboundEvent } from "../../inbound-event";
import { forAll } from "../../../test/harness/for-all";

const user = { id: "u1" };
const typed = (text: string): InboundEvent => ({ type: "message", channel: "c1", user, text });
const command = (text: string): InboundEvent => ({ type: "command", channel: "c1", user, text });
const textOf = (event: InboundEvent) => (event.type === "action" ? "" : event.text);

test.each([
  ["a typed text", 4_000, (text: string) => textOf(sendable(typed(text)))],
  ["the text of a command", 2_000, (text: string) => textOf(sendable(command(text)))],
  [
    "a member's name",
    128,
    (name: string) => sendable({ ...typed("x"), user: { id: "u1", name } }).user.name ?? "",
  ],
  [
    "a channel's name",
    128,
    (name: string) => {
      const { channel } = sendable({ ...typed("x"), channel: { id: "c1", name } });
      return typeof channel === "string" ? "" : (channel.name ?? "");
    },
  ],
])("%s has at most %i code points and is well-formed, and only its end is cut", (_what, max, of) => {
  const part = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("\ud83d", "\ude00", "😀"));
  const texts = fc
    .tuple(part, fc.nat({ max: 2 }), fc.constantFrom("a", "😀", "\ud83d"), part)
    .map(
      ([first, more, filler, last]) =>
        first + filler.repeat(max - 1 + more - ([...first].length % max)) + last,
    );
  forAll(texts, (text) => {
    const sent = of(text);
    expect(sent.isWellFormed()).toBe(true);
    expect([...sent].length).toBe(Math.min(max, [...text].length));
    expect([...text.toWellFormed()].join("").startsWith(sent)).toBe(true);
  });
});

test("ids, actions, null names and valid texts are sent unchanged", () => {
  const action = {
    type: "action",
    id: "i",
    channel: "dm:u\ud83d",
    user,
    messageId: "m",
    action: "a\ud83d",
  } as const;
  expect(sendable(action)).toEqual(action);
  const message = { ...typed("hello"), user: { id: "u1", name: null }, channel: { id: "c1" }, replyTo: "m" };
  expect(sendable(message as InboundEvent)).toEqual(message);
});

test("invalid values from a JavaScript program are sent unchanged, and the service names the invalid field", () => {
  const invalid = { type: "message", text: 5, user: { id: "u1", name: 7 } } as unknown as InboundEvent;
  expect(sendable(invalid)).toEqual(invalid);
});
