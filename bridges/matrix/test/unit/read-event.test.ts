import type { Button, Message } from "chat-bridge-kit";
import {
  isUnasked,
  readEvent,
  withoutFallback,
  type RoomView,
  type ShownEvent,
} from "../../inbound/read-event";

const ANN = "@ann:example.org";
const NOW_MS = 1_000_000_000;
const TYPING = { COMMAND_PREFIX: "!", COMMAND_WORD: "play", nowMs: NOW_MS };

function shown(eventId: string, { labels = [], awaitsReply = false }: Partial<Shape> = {}): ShownEvent {
  const row: Button[] = labels.map((label) => ({ label, action: `do ${label}` }));
  const message: Message = {
    id: `msg of ${eventId}`,
    kind: "card",
    text: "text",
    buttons: [row],
    image: null,
    awaitsReply,
    data: null,
  };
  return { eventId, message };
}
interface Shape {
  readonly labels: readonly string[];
  readonly awaitsReply: boolean;
}

function view(newest: readonly ShownEvent[], directMember?: string): RoomView {
  return {
    directMember,
    shown: (eventId) => newest.find((each) => each.eventId === eventId),
    newestOf: (eventId) => newest.find((each) => each.eventId === eventId),
    newest: () => newest,
  };
}

function event(type: string, content: Readonly<Record<string, unknown>>, ageMs = 0) {
  return { type, event_id: "$e", sender: ANN, origin_server_ts: NOW_MS - ageMs, content };
}
const typed = (body: string, more: object = {}, ageMs = 0) =>
  event("m.room.message", { msgtype: "m.text", body, ...more }, ageMs);
const replyTo = (id: string) => ({ "m.relates_to": { "m.in_reply_to": { event_id: id } } });
const reaction = (target: unknown, key: unknown) =>
  event("m.reaction", { "m.relates_to": { rel_type: "m.annotation", event_id: target, key } });
const press = (target: string, label: string, byReaction = false) => ({
  type: "action",
  target,
  action: `do ${label}`,
  byReaction,
});

const CHOICES = shown("$choices", { labels: ["A", "B"] });
const PROMPT = shown("$prompt", { awaitsReply: true });
const PLAIN = shown("$plain");
const inThread = (root: string, inReplyTo: unknown, isFallback?: unknown) => ({
  "m.relates_to": {
    rel_type: "m.thread",
    event_id: root,
    ...(isFallback !== undefined && { is_falling_back: isFallback }),
    "m.in_reply_to": { event_id: inReplyTo },
  },
});
const hint = (topic: string, text: string) => ({ type: "hint", topic, text });
const OTHER_REACTION = hint("reaction", "To answer, add one of the reactions 1️⃣ to 2️⃣, or type !1 or !2.");
const NO_EDITS = hint(
  "edit",
  "Only your first text counts, not the edit. To send something else, write a new message.",
);
const edited = (body: string, ageMs = 0) => {
  const relation = { rel_type: "m.replace", event_id: "$member" };
  return typed(`* ${body}`, { "m.new_content": { body }, "m.relates_to": relation }, ageMs);
};
const answer = (text: string, replied?: string) => ({
  type: "message",
  text,
  ...(replied !== undefined && { replyTo: replied }),
});

test.each<[string, Parameters<typeof readEvent>[0], readonly ShownEvent[], unknown]>([
  ["the command", typed("!play start"), [], { type: "command", text: "start" }],
  ["the command with other capitals", typed(" !Play "), [], { type: "command", text: "" }],
  ["another word after the prefix", typed("!player"), [], undefined],
  ["a command that is 6 minutes old", typed("!play start", {}, 360_000), [], undefined],
  ["text while no prompt waits", typed("hello"), [CHOICES, PLAIN], undefined],
  ["text while a prompt waits", typed("hello"), [PLAIN, PROMPT], { type: "message", text: "hello" }],
  ["text while a prompt waited long ago", typed("hello"), [...Array(5).fill(PLAIN), PROMPT], undefined],
  ["old text while a prompt waits", typed("hello", {}, 360_000), [PROMPT], undefined],
  [
    "an old reply to a prompt",
    typed("hello", replyTo("$prompt"), 360_000),
    [PROMPT],
    { type: "message", text: "hello", replyTo: "$prompt" },
  ],
  ["a reply to another member", typed("hello", replyTo("$other")), [PROMPT], undefined],
  [
    "a reply to another message of the bridge",
    typed("hello", replyTo("$plain")),
    [PLAIN, PROMPT],
    { type: "message", text: "hello" },
  ],
  ["an edit", typed("* hello", { "m.relates_to": { rel_type: "m.replace" } }), [PROMPT], undefined],
  ["a notice", event("m.room.message", { msgtype: "m.notice", body: "!play start" }), [], undefined],
  ["a body that is not text", event("m.room.message", { msgtype: "m.text", body: 5 }), [PROMPT], undefined],
  [
    "a relation that is not an object",
    typed("hello", { "m.relates_to": "x" }),
    [PROMPT],
    { type: "message", text: "hello" },
  ],
  [
    "the first answer in a prompt's thread",
    typed("a", inThread("$prompt", "$prompt", true)),
    [PROMPT],
    answer("a", "$prompt"),
  ],
  [
    "a later answer in a prompt's thread",
    typed("b", inThread("$prompt", "$other", true)),
    [PLAIN, PROMPT],
    answer("b", "$prompt"),
  ],
  [
    "an old answer in a prompt's thread",
    typed("b", inThread("$prompt", "$other", true), 360_000),
    [PROMPT],
    answer("b", "$prompt"),
  ],
  ["an answer in another thread", typed("c", inThread("$members", "$other", true)), [PROMPT], answer("c")],
  [
    "text in a thread while no prompt waits",
    typed("c", inThread("$plain", "$other", true)),
    [PLAIN],
    undefined,
  ],
  [
    "a real reply to a member in a prompt's thread",
    typed("d", inThread("$prompt", "$other", false)),
    [PROMPT],
    undefined,
  ],
  [
    "a real reply without the field in a thread",
    typed("d", inThread("$prompt", "$other")),
    [PROMPT],
    undefined,
  ],
  [
    "a real reply to the prompt in a thread",
    typed("> e", inThread("$members", "$prompt", false)),
    [PROMPT],
    undefined,
  ],
  [
    "a choice in the thread of a message",
    typed("!2", inThread("$choices", "$other", true)),
    [shown("$newer", { labels: ["X", "Y"] }), CHOICES],
    press("$choices", "B"),
  ],
  ["a fallback that is not text", typed("f", inThread("$prompt", 7, true)), [PROMPT], answer("f", "$prompt")],
  [
    "a quote in a thread",
    typed("> g", inThread("$prompt", "$other", true)),
    [PROMPT],
    answer("> g", "$prompt"),
  ],
  ["a typed choice", typed("!2"), [PLAIN, CHOICES], press("$choices", "B")],
  [
    "a number without the prefix",
    typed("2"),
    [CHOICES],
    hint("number", "To answer, type !2, or add the reaction 2️⃣."),
  ],
  ["a number without the prefix, after the question", typed("2"), [PLAIN, CHOICES], undefined],
  ["a number above the choices", typed("3"), [CHOICES], undefined],
  ["an old number without the prefix", typed("2", {}, 360_000), [CHOICES], undefined],
  [
    "a typed choice as a reply",
    typed("!1", replyTo("$older")),
    [CHOICES, shown("$older", { labels: ["X"] })],
    press("$older", "X"),
  ],
  [
    "a choice that does not exist",
    typed("!3"),
    [CHOICES],
    { type: "hint", text: "There is no choice 3: type !1 or !2." },
  ],
  ["a choice while there are none", typed("!3"), [PLAIN], undefined],
  ["a keycap", reaction("$choices", "1️⃣"), [CHOICES], press("$choices", "A", true)],
  [
    "a keycap without the variation selector",
    reaction("$choices", "2⃣"),
    [CHOICES],
    press("$choices", "B", true),
  ],
  ["a keycap without a button", reaction("$choices", "3️⃣"), [CHOICES], OTHER_REACTION],
  [
    "another emoji under the only choice",
    reaction("$one", "👍"),
    [shown("$one", { labels: ["A"] })],
    hint("reaction", "To answer, add the reaction 1️⃣, or type !1."),
  ],
  ["another emoji under a message without choices", reaction("$prompt", "👍"), [PROMPT], undefined],
  ["a keycap on a member's message", reaction("$other", "1️⃣"), [CHOICES], undefined],
  ["another emoji", reaction("$choices", "👍"), [CHOICES], OTHER_REACTION],
  ["an edit of a typed choice", edited("!3"), [CHOICES], NO_EDITS],
  ["an edit of a number", edited("8849"), [PROMPT], NO_EDITS],
  ["an edit of a command", edited("!play start"), [], NO_EDITS],
  ["an old edit of a command", edited("!play start", 360_000), [], undefined],
  ["an edit of a typed choice, after the question", edited("!3"), [PLAIN], undefined],
  ["an edit of text that begins with a number", edited("2 of 3 have answered"), [PROMPT], undefined],
  ["an edit of other text", edited("hello"), [PROMPT], undefined],
  ["a redacted reaction", event("m.reaction", {}), [CHOICES], undefined],
  ["a reaction with a key that is not text", reaction("$choices", { a: 1 }), [CHOICES], undefined],
  ["an event of another type", event("m.sticker", { body: "!play" }), [PROMPT], undefined],
])("in a room: %s", (_what, from, newest, act) => {
  expect(readEvent(from, view(newest), TYPING)).toEqual(act);
});

test.each<[string, Parameters<typeof readEvent>[0], readonly ShownEvent[], unknown]>([
  ["text without a prompt", typed("hello", {}, 360_000), [], { type: "message", text: "hello" }],
  ["a number, if the newest message has buttons", typed("2"), [CHOICES, PROMPT], press("$choices", "B")],
  [
    "a number, if the newest message is a prompt",
    typed("2"),
    [PROMPT, CHOICES],
    { type: "message", text: "2" },
  ],
  ["a number with the prefix", typed("!2"), [PROMPT, CHOICES], press("$choices", "B")],
  ["a number above the choices", typed("42"), [CHOICES], { type: "message", text: "42" }],
  ["the command", typed("!play start"), [], { type: "hint", text: "Commands do not work here." }],
])("in a direct room: %s", (_what, from, newest, act) => {
  expect(readEvent(from, view(newest, ANN), TYPING)).toEqual(act);
});

test.each<[string, Parameters<typeof readEvent>[0], readonly ShownEvent[], boolean]>([
  ["text without a prompt", typed("hello"), [PLAIN, CHOICES], true],
  ["text while a prompt waits", typed("hello"), [PLAIN, PROMPT], false],
  ["a number for a button", typed("2"), [CHOICES], false],
  ["a number without a button", typed("2"), [PLAIN], true],
])("in a direct room, %s", (_what, from, newest, is) => {
  const room = view(newest, ANN);
  const act = readEvent(from, room, TYPING);
  expect(act !== undefined && isUnasked(act, room)).toBe(is);
});

test("a reply to an earlier question of a message answers its newest question", () => {
  const [first, second] = [shown("$first"), shown("$second", { awaitsReply: true })];
  const room = { ...view([second, first]), newestOf: () => second };
  expect(readEvent(typed("8849", replyTo("$first")), room, TYPING)).toEqual(answer("8849", "$second"));
});

test("in a direct room, only events of its member are reported", () => {
  expect(readEvent(typed("hello"), view([PROMPT], "@bob:example.org"), TYPING)).toBeUndefined();
});

test.each([
  ["> <@a:b> quoted\n> more\n\nthe answer\n> kept", "the answer\n> kept"],
  ["no quote\n\nthe answer", "no quote\n\nthe answer"],
  ["> only a quote", ""],
])("the quoted lines before a reply are removed: %j", (body, text) => {
  expect(withoutFallback(body)).toBe(text);
});
