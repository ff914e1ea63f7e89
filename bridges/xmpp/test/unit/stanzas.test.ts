import { CannotShow, RetryLater } from "chat-bridge-kit";
import { parse } from "ltx";
import { messageText } from "../../chat/xmpp-chat";
import { refusalOf, toChatError } from "../../rooms/refusal";
import { bodyOf, delayedAtMs, isEncrypted, roomMessage, stanzaId } from "../../stanzas";

const message = (children: string) =>
  parse(`<message xmlns="jabber:client" from="a@b/c">${children}</message>`);

test.each([
  ["control characters", "a\u0000b\u0008c\u001Fd", "abcd"],
  ["lone surrogates", "a\uD800b", "a\uFFFDb"],
  ["noncharacters", "a\uFFFE\uFFFFb", "ab"],
  ["nothing else", "a\tb\nc😀\u200B<&\"'", "a\tb\nc😀\u200B<&\"'"],
])("%s are removed from a text, because a server would close the connection", (_what, text, expected) => {
  const sent = roomMessage({ id: "1", to: "quiz@rooms.example", text }).toString();
  expect(parse(sent).getChildText("body")).toBe(expected);
});

test("the quoted lines of a reply are not part of the body, and their positions are counted in characters", () => {
  const fallback = (start: string, end: string, of = "urn:xmpp:reply:0") =>
    `<fallback xmlns="urn:xmpp:fallback:0" for="${of}"><body start="${start}" end="${end}"/></fallback>`;
  const body = "<body>&gt; 😀 hi\n!2</body>";
  expect(bodyOf(message(body + fallback("0", "7")))).toBe("!2");
  expect(bodyOf(message(body + fallback("0", "x")))).toBe("> 😀 hi\n!2");
  expect(bodyOf(message(body + fallback("0", "7", "something else")))).toBe("> 😀 hi\n!2");
  expect(bodyOf(message("<subject>hi</subject>"))).toBeUndefined();
});

test("only an id that the room has set identifies a message", () => {
  const ids = message(
    '<stanza-id xmlns="urn:xmpp:sid:0" by="eve@b" id="1"/><stanza-id xmlns="urn:xmpp:sid:0" by="a@b" id="2"/>',
  );
  expect(stanzaId(ids, "a@b")).toBe("2");
  expect(stanzaId(ids, "c@b")).toBeUndefined();
});

test("delayed and encrypted messages are recognized", () => {
  const delay = '<delay xmlns="urn:xmpp:delay" stamp="2026-01-02T03:04:05Z"/>';
  expect(delayedAtMs(message(delay))).toBe(Date.UTC(2026, 0, 2, 3, 4, 5));
  expect(delayedAtMs(message('<delay xmlns="urn:xmpp:delay" stamp="soon"/>'))).toBe(0);
  expect(delayedAtMs(message(""))).toBeUndefined();
  expect(isEncrypted(message('<encrypted xmlns="eu.siacs.conversations.axolotl"/>'))).toBe(true);
  expect(isEncrypted(message("<body>hi</body>"))).toBe(false);
});

test.each([
  ["cancel", "forbidden", CannotShow],
  ["cancel", "item-not-found", CannotShow],
  ["modify", "not-acceptable", CannotShow],
  ["wait", "resource-constraint", RetryLater],
  ["cancel", "remote-server-timeout", RetryLater],
  ["wait", "undefined-condition", RetryLater],
])("an error of the type %s with %s is passed to the kit as the right error", (type, condition, kind) => {
  const error = `<error type="${type}"><${condition} xmlns="urn:ietf:params:xml:ns:xmpp-stanzas"/></error>`;
  const chatError = toChatError(refusalOf(message(error)));
  expect(chatError).toBeInstanceOf(kind);
  expect(chatError.message).toContain(condition);
});

test("an error without a condition is a refusal", () => {
  expect(refusalOf(message("<error/>"))).toEqual({ condition: "undefined-condition", type: "cancel" });
});

test("a text that is too long is shortened, and the choices are kept", () => {
  const buttons = [[{ label: "Yes", action: "yes" }]];
  const long = {
    id: "m",
    kind: "card",
    text: "😀".repeat(9_000),
    buttons,
    image: null,
    awaitsReply: false,
    data: null,
  };
  const text = messageText(long, "!");
  expect(text).toMatch(/😀…\n1\. Yes\n\(answer with !1\)$/u);
  expect(Buffer.byteLength(text)).toBeLessThan(16_100);
});
