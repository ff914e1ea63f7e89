import type { Message } from "../../events";
import { dmChannel } from "../../inbound-event";
import { createReports } from "../../bridge-reports";
import { PendingCalls } from "../../pending-calls";
import { createShownMessages } from "../../shown-messages";
import { TextChat, type SharedChannel } from "../../text-chat";

const ANN = { id: "ann@chat.example", name: "Ann" };
const BOB = { id: "bob@chat.example", name: "Bob" };
const QUIZ = { id: "quiz@rooms.example", name: "Quiz" };
const CHESS = { id: "chess@rooms.example", name: "Chess" };
const DM = dmChannel(ANN.id);
const UNSENT = "That did not reach the games. Try again in a minute.";
const choices = (...labels: readonly string[]) => ({
  buttons: [labels.map((label) => ({ label, action: `do:${label}` }))],
});

type Shown = Partial<Message> & { readonly user?: string; readonly channel?: string };

/** Returns a text chat that shows messages, the oldest first, and the events that it has sent. */
function setUp(messages: readonly Shown[], outcome = "accepted") {
  const sent: unknown[] = [];
  const shown = createShownMessages();
  messages.forEach(({ user = null, channel = QUIZ.id, ...fields }, i) => {
    const id = `m${i}`;
    const plain = { kind: "card", text: "", buttons: [], image: null, awaitsReply: false, data: null };
    const message = { id, ...plain, ...fields };
    shown.put({ messageId: id, channel, user, message, chatMessageIds: [id], eventId: id, sequence: i });
  });
  const { reports } = createReports({
    sender: {
      async send(event: unknown) {
        sent.push(event);
        return { outcome, status: 500, message: "" } as never;
      },
    },
    shown,
    calls: new PendingCalls(),
    signal: new AbortController().signal,
    report: () => undefined,
  });
  const chat = new TextChat({
    bridge: { ...reports, shownIn: (channel) => shown.inChannel(channel) },
    settings: { COMMAND_PREFIX: "!", COMMAND_WORD: "play" },
    channelWord: "room",
  });
  return {
    chat,
    sent,
    types: (text: string, user = ANN) => chat.report({ user, channel: QUIZ, text }),
    whispers: (text: string, sharedChannels: readonly SharedChannel[] = []) =>
      chat.report({ user: ANN, channel: undefined, text, sharedChannels }),
  };
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test("!play is a command of the channel", async () => {
  const { sent, types } = setUp([]);
  expect(await types("!PLAY start now")).toBeUndefined();
  expect(sent).toEqual([{ type: "command", channel: QUIZ, user: ANN, text: "start now" }]);
});

test("!2 presses the second button of the newest message that the member sees, and other members' buttons are not pressed", async () => {
  const { sent, types } = setUp([choices("a", "b"), { ...choices("c", "d"), user: BOB.id }]);
  await types("!2");
  expect(sent).toEqual([{ type: "action", channel: QUIZ.id, user: ANN, messageId: "m0", action: "do:b" }]);
});

test("a number above the highest choice is explained, and !3 in a channel without choices is ignored", async () => {
  const { sent, types } = setUp([choices("a", "b", "c", "d")]);
  expect(await types("!9")).toBe("There is no choice 9: answer with !1 to !4.");
  const without = setUp([]);
  expect(await without.types("!3")).toBeUndefined();
  expect([...sent, ...without.sent]).toEqual([]);
});

test("text is sent only while one of the five newest messages waits for it, and messages to one member do not end the wait", async () => {
  const prompt = { awaitsReply: true };
  const newer = (count: number, more: { readonly user?: string } = {}) =>
    Array.from({ length: count }, () => more);
  for (const messages of [[prompt], [prompt, ...newer(4)], [prompt, ...newer(9, { user: ANN.id })]]) {
    const waiting = setUp(messages);
    expect(await waiting.types("42")).toBeUndefined();
    expect(waiting.sent).toEqual([{ type: "message", channel: QUIZ, user: ANN, text: "42" }]);
  }
  const over = setUp([prompt, ...newer(5)]);
  expect(await over.types("42")).toBeUndefined();
  expect(over.sent).toEqual([]);
});

test("a number without the prefix that is a choice of the newest message does not answer an older prompt", async () => {
  const { sent, types } = setUp([{ awaitsReply: true }, choices("a", "b")]);
  expect(await types("2")).toBe("To answer, type !2.");
  expect(sent).toEqual([]);
  await types("3");
  await types("two");
  expect(sent).toMatchObject([{ text: "3" }, { text: "two" }]);
});

test("a number is read as a choice if the choices are newer than the prompt, even if a message without choices follows", async () => {
  const { sent, types } = setUp([{ awaitsReply: true }, choices("a", "b", "c"), {}]);
  expect(await types("3")).toBe("To answer, type !3.");
  expect(sent).toEqual([]);
});

test("a number with the prefix is ignored if the prompt is not the newest message", async () => {
  const { sent, types } = setUp([{ awaitsReply: true }, {}]);
  expect(await types("!2")).toBeUndefined();
  expect(sent).toEqual([]);
});

test("a prompt for one member waits only until the next message for this member, because it cannot be updated", async () => {
  const prompt = { awaitsReply: true, user: ANN.id };
  const waiting = setUp([prompt, {}]);
  await waiting.types("tiger");
  const over = setUp([prompt, { user: ANN.id }]);
  await over.types("tiger");
  expect([waiting.sent.length, over.sent.length]).toEqual([1, 0]);
});

// time: controlled
test("a member who types a number without the prefix learns once how to answer", async () => {
  const { sent, types } = setUp([choices("a", "b")]);
  expect(await types("2")).toBe("To answer, type !2.");
  expect(await types("3")).toBeUndefined();
  jest.advanceTimersByTime(60_000);
  expect(await types("2")).toBeUndefined();
  expect(await types("2", BOB)).toBe("To answer, type !2.");
  expect(sent).toEqual([]);
});

test("a member who answers a question without choices with the prefix learns to omit the prefix", async () => {
  const { sent, types } = setUp([{ awaitsReply: true }]);
  expect(await types("!42")).toBe("This question has no choices: type 42 without !.");
  expect(sent).toEqual([]);
});

test("a private number presses a button of the direct conversation, and answers a newer prompt there", async () => {
  const offer = { channel: DM, ...choices("yes", "no") };
  const offered = setUp([offer]);
  expect(await offered.whispers("2")).toBeUndefined();
  expect(await offered.whispers("3")).toBe("There is no choice 3: answer with 1 or 2.");
  expect(offered.sent).toMatchObject([{ type: "action", channel: DM, action: "do:no" }]);
  const asked = setUp([offer, { channel: DM, awaitsReply: true }]);
  expect([await asked.whispers("1"), await asked.whispers("!1")]).toEqual([undefined, undefined]);
  expect(asked.sent).toMatchObject([
    { type: "message", channel: DM, text: "1" },
    { type: "action", channel: DM, action: "do:yes" },
  ]);
});

test.each([
  ["2", "Numbers count in the room of the question: type !2 in Quiz."],
  ["!2", "Numbers count in the room of the question: type !2 in Quiz."],
  ["hello", "No question is waiting for an answer here. To play, type !play in Quiz or Chess."],
  ["!play start", "Commands do not work here. To play, type !play in Quiz or Chess."],
])("a private %p without a question there is explained", async (text, hint) => {
  const { whispers } = setUp([choices("a", "b")]);
  expect(await whispers(text, [QUIZ, CHESS])).toBe(hint);
});

const NOTHING_WAITS = "No question is waiting for an answer here. To play, type !play in Quiz or Chess.";
test.each<[string, readonly Shown[], string]>([
  ["a question without choices", [{ awaitsReply: true }], "type 50 in Quiz."],
  [
    "questions of both kinds",
    [{ awaitsReply: true }, { channel: CHESS.id, ...choices("a") }],
    "type !50 in Chess, or 50 in Quiz.",
  ],
  ["no open question", [{}], NOTHING_WAITS],
  ["a question for another member", [{ ...choices("a"), user: BOB.id }], NOTHING_WAITS],
])("a private number is explained with %s", async (_what, messages, hint) => {
  expect(await setUp(messages).whispers("50", [QUIZ, CHESS])).toMatch(hint);
});

test("while a question in a room waits for text, the hint about a private text names the room", async () => {
  const { sent, whispers } = setUp([{ awaitsReply: true }, { channel: CHESS.id, ...choices("a") }]);
  const hint = "Answers count in the room of the question: type yours in Quiz.";
  expect(await whispers("ice cream", [QUIZ, CHESS])).toBe(hint);
  expect(sent).toMatchObject([{ type: "message", channel: DM, text: "ice cream" }]);
});

test("a member who asks for help privately learns how to play, although a question waits", async () => {
  const { whispers } = setUp([{ awaitsReply: true }]);
  const hint =
    "Answers count in the room of the question: type yours in Quiz. To play, type !play in Quiz or Chess.";
  expect(await whispers("!help", [QUIZ, CHESS])).toBe(hint);
});

test("a private hint names no room if no shared room is known", async () => {
  const hint = "No question is waiting for an answer here. To play, type !play in a room.";
  expect(await setUp([]).whispers("hi")).toBe(hint);
  expect(await setUp([]).whispers("1")).toBe(hint);
});

// time: controlled
test("a member gets at most one hint in 10 seconds, and one explanation in 10 minutes", async () => {
  const { whispers } = setUp([]);
  expect(await whispers("hi")).toBeDefined();
  expect(await whispers("!play")).toBeUndefined();
  jest.advanceTimersByTime(10_000);
  expect(await whispers("!play")).toBeDefined();
  jest.advanceTimersByTime(60_000);
  expect(await whispers("hi")).toBeUndefined();
  jest.advanceTimersByTime(10 * 60_000);
  expect(await whispers("hi")).toBeDefined();
});

// time: controlled
test("the limit of explanations applies to each kind of mistake separately", async () => {
  const { chat, whispers } = setUp([choices("a", "b")]);
  expect(await whispers("hi")).toContain("No question is waiting");
  jest.advanceTimersByTime(10_000);
  expect(await whispers("2", [QUIZ])).toContain("Numbers count");
  jest.advanceTimersByTime(10_000);
  expect(chat.explain(ANN.id, "of the bridge", "one")).toBe("of the bridge");
  jest.advanceTimersByTime(10_000);
  expect([await whispers("hi"), await whispers("2", [QUIZ]), chat.explain(ANN.id, "again", "one")]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(chat.explain(ANN.id, "another kind", "two")).toBe("another kind");
});

test.each(["refused", "given-up"])("a member learns that a command was %s", async (outcome) => {
  const { types } = setUp([choices("a")], outcome);
  expect(await types("!play")).toBe(UNSENT);
  expect(await types("!1", BOB)).toBe(UNSENT);
});

test("a member who edits a command learns once that the first text counts, and other edits are ignored", async () => {
  const { chat, sent } = setUp([]);
  const edits = (text: string, channel: typeof QUIZ | undefined = QUIZ) =>
    chat.explainCorrection({ user: ANN, channel, text });
  expect(edits("a typo")).toBeUndefined();
  expect(edits("!2")).toBe(
    "Only your first text counts, not the edit. To send something else, write a new message.",
  );
  expect(edits("!play")).toBeUndefined();
  expect(chat.explain(BOB.id, "an explanation of the bridge")).toBe("an explanation of the bridge");
  expect(chat.explain(BOB.id, "another")).toBeUndefined();
  expect(sent).toEqual([]);
});
