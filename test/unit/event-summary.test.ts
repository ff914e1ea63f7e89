import * as fc from "fast-check";
import { renderEnvelope } from "../../core/domain/envelope";
import { eventIdMs } from "../../core/domain/event-id";
import { summarize, type EventSummary } from "../../core/domain/event-summary";
import type { MessageBody, OutboundContent } from "../../core/domain/outbound-event";

const HEAD = { eventId: "evt_01KE8H2V3W4X5Y6Z7A8B9C0D1E", workspaceId: "w", createdAtMs: 0, expiresAtMs: 9 };
const MESSAGE_ID = "msg_01KE8H2V3W4X5Y6Z7A8B9C0D1E";
const PLAIN: MessageBody = {
  kind: "text",
  text: "",
  buttons: [],
  image: null,
  awaitsReply: false,
  data: null,
};

function render(content: OutboundContent | { readonly type: "ping" }): string {
  const { beforeSequence, afterSequence } = renderEnvelope(HEAD, content, MESSAGE_ID);
  return `${beforeSequence}7${afterSequence}`;
}

const textOf = (message: Partial<MessageBody>): string =>
  summarize(render({ type: "message.create", channel: "general", message: { ...PLAIN, ...message } })).text;

/** Texts with the characters that JSON escapes, that look like the rest of an event, or that are white space. */
const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({
    unit: fc.constantFrom('"', "\\", "\n", " ", "{", "}", "[", "]", ",", ":", "a", "\u0000", "🎲", "é"),
  }),
  fc.constantFrom(
    '","buttons":[[{"label":"x","action":"y"}]]',
    ',"message":{"id":"x","kind":"y","text":"z',
    "\\u00",
  ),
);
const id = text.filter((each) => each !== "");
const message: fc.Arbitrary<MessageBody> = fc.record({
  kind: fc.constantFrom("text", "card"),
  text,
  buttons: fc.array(
    fc.array(
      fc.oneof(
        fc.record({ label: id, action: id }),
        fc.record({ label: id, url: fc.constant("https://a.example/?q=%22") }),
      ),
      { minLength: 1, maxLength: 3 },
    ),
    { maxLength: 3 },
  ),
  image: fc.constantFrom(null, "https://a.example/x.png"),
  awaitsReply: fc.boolean(),
  data: fc.constantFrom(null, { label: "not a button", channel: "not the channel" }),
});
const content: fc.Arbitrary<OutboundContent> = fc.oneof(
  fc.record({ type: fc.constant("message.create" as const), channel: id, message }),
  fc.record({ type: fc.constant("message.update" as const), channel: id, messageId: id, message }),
  fc.record({ type: fc.constant("message.ephemeral" as const), channel: id, user: id, message }),
  fc.record({ type: fc.constant("dm.create" as const), user: id, message }),
);

/** Returns the expected summary of an event, computed from the event's fields. */
function expected(event: OutboundContent): EventSummary {
  const { message: body } = event;
  const fold = (each: string): string => each.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
  const labels = body.buttons.flat().map(({ label }) => `[${fold(label)}]`);
  const points = [...[fold(body.text), ...labels].filter((each) => each !== "").join(" ")];
  const channel = "channel" in event ? event.channel : "";
  const isDirect = channel.startsWith("dm:");
  return {
    channel: isDirect ? "" : channel,
    userId: isDirect ? channel.slice(3) : "user" in event ? event.user : "",
    messageId: MESSAGE_ID,
    text: points.length <= 80 ? points.join("") : `${points.slice(0, 79).join("")}…`,
  };
}

test("the summary of each event contains its channel or member, its message id, and the start of its text with the labels of its buttons", () => {
  fc.assert(
    fc.property(content, (event) => {
      const json = render(event);
      expect(summarize(json)).toEqual(expected(event));
      expect(summarize(Buffer.from(json))).toEqual(expected(event));
    }),
    { numRuns: 500 },
  );
});

test("a summary can be read from the first bytes of an event, wherever these bytes end", () => {
  fc.assert(
    fc.property(content, fc.double({ min: 0, max: 1, noNaN: true }), (event, part) => {
      const bytes = Buffer.from(render(event));
      const whole = summarize(bytes);
      const start = summarize(bytes.subarray(0, Math.floor(part * bytes.length)).toString("utf8"));
      expect(["", whole.channel]).toContain(start.channel);
      expect(["", whole.userId]).toContain(start.userId);
      expect(["", MESSAGE_ID]).toContain(start.messageId);
      expect([...start.text].length).toBeLessThanOrEqual(80);
      // The last character may have been cut into bytes that are not UTF-8.
      const known = start.text.replace(/[\ufffd…]*$/u, "").trimEnd();
      expect(whole.text.startsWith(known.slice(0, -1))).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test("white space in the text of a summary is reduced to single spaces, and the labels of the buttons follow the text", () => {
  const join = { label: "Join", action: "join" };
  expect(textOf({ text: "Who is in?", buttons: [[join]] })).toBe("Who is in? [Join]");
  expect(textOf({ text: " a\n\n b\t\u0000c " })).toBe("a b c");
  expect(textOf({ buttons: [[join, { label: "Rules", url: "https://a.example/" }], [join]] })).toBe(
    "[Join] [Rules] [Join]",
  );
  expect(textOf({ text: "🎲".repeat(80) })).toBe("🎲".repeat(80));
  expect(textOf({ text: "🎲".repeat(81) })).toBe(`${"🎲".repeat(79)}…`);
  const empty = { channel: "", userId: "", messageId: "", text: "" };
  expect(summarize(render({ type: "ping" }))).toEqual(empty);
  expect(summarize("[]")).toEqual(empty);
});

test("a text that is cut in the middle of a character stays well-formed Unicode", () => {
  const blanks = fc.nat({ max: 3 }).map((count) => " ".repeat(1_021 + count));
  fc.assert(
    fc.property(blanks, fc.constantFrom("", "a", "é"), (blank, first) => {
      const found = textOf({ text: `${first}${blank}🎲🎲` });
      expect(found.isWellFormed()).toBe(true);
    }),
  );
});

test("a summary has room for the text even with the longest ids, and is read from an event with a very long text and long data", () => {
  const channel = "\u0001".repeat(128);
  const body = { ...PLAIN, text: "🎲".repeat(40_000), data: { x: "y".repeat(20_000) } };
  const json = render({ type: "message.ephemeral", channel, user: channel, message: body });
  const summary = { channel, userId: channel, messageId: MESSAGE_ID, text: `${"🎲".repeat(79)}…` };
  expect(summarize(Buffer.from(json))).toEqual(summary);
});

test("an event id contains the time at which the event was published", () => {
  expect(eventIdMs("evt_01ARZ3NDEKTSV4RRFFQ69G5FAV")).toBe(Date.parse("2016-07-30T23:54:10.259Z"));
  expect(eventIdMs("evt_00000000000000000000000000")).toBe(0);
});
