import type { Message } from "chat-bridge-kit";
import { pino } from "pino";
import type { SentMessage, ShownView } from "../../play/find-choices";
import { typedLines, type TypedLinesOptions } from "../../play/typed-lines";

const ANN = { id: "nick:ann", name: "Ann" };
const GAMES = { id: "#games", name: "#Games" };
const choices = (...labels: readonly string[]) => [labels.map((label) => ({ label, action: `do:${label}` }))];

function shown(id: string, fields: Partial<Message> & { user?: string; channel?: string }): SentMessage {
  const { user = null, channel = "#games", ...more } = fields;
  const message = {
    id,
    kind: "card",
    text: "",
    buttons: [],
    image: null,
    awaitsReply: false,
    data: null,
    ...more,
  };
  return { messageId: id, channel, user, message, chatMessageIds: [id] };
}

function setUp(
  messages: readonly SentMessage[],
  times: Readonly<Record<string, number>> = {},
  outcome = "accepted",
  { sharedChannels, ...view }: Partial<ShownView> & Pick<TypedLinesOptions, "sharedChannels"> = {},
) {
  const sent: unknown[] = [];
  const hints: string[] = [];
  const report = (type: string) => async (event: object) => {
    sent.push({ type, ...event });
    return { outcome } as never;
  };
  const onTyped = typedLines({
    settings: { COMMAND_PREFIX: "!", COMMAND_WORD: "play" },
    bridge: { command: report("command"), action: report("action"), message: report("message") },
    view: {
      shownIn: (channel) => messages.filter((each) => each.channel === channel),
      printedAtMs: (id) => times[id],
      isHidden: () => false,
      areChoicesComing: () => false,
      justClosed: () => undefined,
      ...view,
    },
    log: pino({ level: "silent" }),
    untilKnown: async () => undefined,
    hint: (_member, text) => void hints.push(text),
    ...(sharedChannels && { sharedChannels }),
  });
  return {
    sent,
    hints,
    types: (text: string, channel: typeof GAMES | undefined = GAMES) =>
      onTyped({ member: ANN, channel, text, id: undefined }),
    whispers: (text: string) => onTyped({ member: ANN, channel: undefined, text, id: undefined }),
  };
}

test("!play and the words after it are a command, which is reported with the channel's name", async () => {
  const { sent, types } = setUp([]);
  await types("!PLAY  start now ");
  await types("!play");
  expect(sent).toEqual([
    { type: "command", channel: GAMES, user: ANN, text: "start now" },
    { type: "command", channel: GAMES, user: ANN, text: "" },
  ]);
});

test("a typed number presses a choice of the message that was printed last", async () => {
  const older = shown("older", { buttons: choices("a", "b") });
  const newer = shown("newer", { buttons: choices("c", "d") });
  const { sent, types } = setUp([older, newer], { older: 1, newer: 2 });
  await types("!2");
  expect(sent).toEqual([{ type: "action", chatMessageId: "newer", user: ANN, action: "do:d" }]);
});

test("a typed number does not press a choice that only another member sees", async () => {
  const { sent, types } = setUp([shown("m", { buttons: choices("a"), user: "nick:bob" })]);
  await types("!1");
  expect(sent).toEqual([]);
});

test("a member who types a number that matches no choice gets one hint, but no hint if there are no choices", async () => {
  const { sent, hints, types } = setUp([shown("m", { buttons: choices("a", "b", "c", "d") })]);
  await types("!9");
  await types("!8");
  expect(hints).toEqual(["There is no choice 9: answer with !1 to !4."]);
  const without = setUp([]);
  await without.types("!3");
  expect([sent, without.sent, without.hints]).toEqual([[], [], []]);
});

test("other text in a channel is sent only while one of the five newest messages waits for text", async () => {
  const prompt = shown("prompt", { awaitsReply: true });
  const newer = (count: number, more: { readonly user?: string } = {}) =>
    Array.from({ length: count }, (_, i) => shown(`newer ${i}`, more));
  for (const messages of [[prompt], [...newer(4), prompt], [...newer(9, { user: ANN.id }), prompt]]) {
    const waiting = setUp(messages);
    await waiting.types("42");
    expect(waiting.sent).toEqual([{ type: "message", channel: GAMES, user: ANN, text: "42" }]);
  }
  const over = setUp([...newer(5), prompt]);
  await over.types("42");
  expect(over.sent).toEqual([]);
});

test("a number without the prefix that is a choice of the newest message does not answer an older prompt", async () => {
  const messages = [shown("choices", { buttons: choices("a", "b") }), shown("prompt", { awaitsReply: true })];
  const { sent, hints, types } = setUp(messages);
  await types("2");
  expect([sent, hints]).toEqual([[], ["To answer, type !2."]]);
  await types("3");
  await types("two");
  expect(sent).toMatchObject([{ text: "3" }, { text: "two" }]);
});

test("a number that is a choice of a newer message does not answer an older prompt, and a number with the prefix gets no hint", async () => {
  const prompt = shown("prompt", { awaitsReply: true });
  const between = setUp([shown("help", {}), shown("quiz", { buttons: choices("a", "b", "c") }), prompt]);
  await between.types("3");
  const late = setUp([shown("quiz", {}), prompt]);
  await late.types("!2");
  expect([between.sent, late.sent, late.hints]).toEqual([[], [], []]);
});

test("a prompt for one member waits only until the next message for this member, because it cannot be updated", async () => {
  const prompt = shown("prompt", { awaitsReply: true, user: ANN.id });
  const waiting = setUp([shown("newer", {}), prompt]);
  await waiting.types("tiger");
  const over = setUp([shown("saved", { user: ANN.id }), prompt]);
  await over.types("tiger");
  expect([waiting.sent.length, over.sent.length]).toEqual([1, 0]);
});

test("in a private message, text is always sent, and a number without prefix presses a choice", async () => {
  const offer = shown("offer", { channel: `dm:${ANN.id}`, buttons: choices("yes", "no") });
  const { sent, hints, whispers } = setUp([offer]);
  await whispers("2");
  await whispers("hello");
  await whispers("!play start");
  expect(sent).toEqual([
    { type: "action", chatMessageId: "offer", user: ANN, action: "do:no" },
    { type: "message", channel: `dm:${ANN.id}`, user: ANN, text: "hello" },
  ]);
  expect(hints).toEqual(["Commands do not work here. To play, type !play in a channel."]);
});

test("in a private message, a number answers a newer prompt, and !1 still presses a choice", async () => {
  const place = { channel: `dm:${ANN.id}` };
  const { sent, whispers } = setUp([
    shown("p", { ...place, awaitsReply: true }),
    shown("o", { ...place, buttons: choices("yes") }),
  ]);
  await whispers("1");
  await whispers("!1");
  expect(sent).toMatchObject([
    { type: "message", text: "1" },
    { type: "action", chatMessageId: "o" },
  ]);
});

test("if a command does not reach the service, the member gets a hint", async () => {
  const { hints, types } = setUp([], {}, "given-up");
  await types("!play start");
  expect(hints).toEqual(["That did not reach the games. Try again in a minute."]);
});

test("a number that is typed before the choices are printed is not reported, and the member learns why", async () => {
  const { sent, hints, types } = setUp([], {}, "accepted", { areChoicesComing: () => true });
  await types("!2");
  expect([sent, hints]).toEqual([[], ["The choices are not printed yet: type !2 when you see them."]]);
});

test("just after choices are replaced, a number counts only for choices that were printed later, or that replace them", async () => {
  const older = shown("older", { buttons: choices("a") });
  const question = shown("question", { buttons: choices("b") });
  const view = { justClosed: () => ({ messageId: "question", atMs: 5, untilMs: Infinity }) };
  const before = setUp([older], { older: 4 }, "accepted", view);
  await before.types("!1");
  expect([before.sent, before.hints]).toEqual([
    [],
    ["Too late: these choices are closed. Wait for the next ones."],
  ]);
  for (const [messages, times] of [
    [[older], { older: 6 }],
    [[question, older], { older: 4, question: 5 }],
  ] as const) {
    const after = setUp(messages, times, "accepted", view);
    await after.types("!1");
    expect(after.sent).toHaveLength(1);
  }
});

test("a number does not press a choice that is hidden", async () => {
  const hidden = shown("hidden", { buttons: choices("a") });
  const { sent, types } = setUp([hidden], {}, "accepted", { isHidden: () => true });
  await types("!1");
  expect(sent).toEqual([]);
});

const SHARED = [
  { id: "#a", name: "#A" },
  { id: "#b", name: "#b" },
];

test("the bridge replies to a private line with the names of the channels, unless a game waits for the line", async () => {
  const sharedChannels = () => SHARED;
  const noGame = setUp([], {}, "accepted", { sharedChannels });
  await noGame.whispers("hello");
  expect(noGame.hints).toEqual([
    "No question is waiting for an answer here. To play, type !play in #A or #b.",
  ]);
  const prompt = shown("p", { channel: `dm:${ANN.id}`, awaitsReply: true });
  const game = setUp([prompt], {}, "accepted", { sharedChannels });
  await game.whispers("hello");
  expect(game.hints).toEqual([]);
  expect(game.sent).toHaveLength(1);
});

const choicesIn = (channel: string) => shown(`choices ${channel}`, { channel, buttons: choices("a") });
const promptIn = (channel: string) => shown(`prompt ${channel}`, { channel, awaitsReply: true });
const COUNT = "Numbers count in the channel of the question:";
test.each([
  ["no question", [], "No question is waiting for an answer here. To play, type !play in #A or #b."],
  ["questions with choices", [choicesIn("#a"), choicesIn("#b")], `${COUNT} type !3 in #A or #b.`],
  ["a question without choices", [promptIn("#b")], `${COUNT} type 3 in #b.`],
  ["one of each", [promptIn("#a"), choicesIn("#b")], `${COUNT} type !3 in #b, or 3 in #A.`],
])(
  "with %s open, the reply to a private number says how to type the number in the channel",
  async (_what, messages, hint) => {
    for (const typed of ["3", "!3"]) {
      const { hints, whispers } = setUp(messages, {}, "accepted", { sharedChannels: () => SHARED });
      await whispers(typed);
      expect(hints).toEqual([hint]);
    }
  },
);

test("while a question of a channel waits for text, the reply to a private text says where to type the answer", async () => {
  const messages = [promptIn("#a"), choicesIn("#b")];
  const { hints, whispers } = setUp(messages, {}, "accepted", { sharedChannels: () => SHARED });
  await whispers("ice cream");
  expect(hints).toEqual(["Answers count in the channel of the question: type yours in #A."]);
});

test("a member who asks for help privately learns how to play, although a question waits", async () => {
  const { hints, whispers } = setUp([promptIn("#a")], {}, "accepted", { sharedChannels: () => SHARED });
  await whispers("help");
  expect(hints).toEqual([
    "Answers count in the channel of the question: type yours in #A. To play, type !play in #A or #b.",
  ]);
});

/** Controls the time. LRUCache treats the time 0, at which the controlled clock starts, as no time. */
function startClock(): void {
  jest.useFakeTimers();
  jest.advanceTimersByTime(1);
}

const NO_CHOICES = "This question has no choices: type 41 without !.";

// time: controlled
test("while a question without choices is open, !41 is not reported, and the member gets a hint each time", async () => {
  startClock();
  try {
    const justClosed = () => ({ messageId: "prompt", atMs: 5, untilMs: 15_000 });
    const view: Partial<ShownView> = { justClosed };
    const { sent, hints, types } = setUp(
      [shown("prompt", { awaitsReply: true })],
      { prompt: 5 },
      "accepted",
      view,
    );
    await types("!41");
    await types("!41");
    expect(hints).toEqual([NO_CHOICES]);
    jest.advanceTimersByTime(60_000);
    await types("!41");
    expect([sent, hints]).toEqual([[], [NO_CHOICES, NO_CHOICES]]);
  } finally {
    jest.useRealTimers();
  }
});

test("a member who cannot see the question without choices yet gets the hint that the old choices are closed", async () => {
  const justClosed = () => ({ messageId: "prompt", atMs: 5, untilMs: Infinity });
  const printing = setUp([shown("prompt", { awaitsReply: true })], { prompt: Infinity }, "accepted", {
    justClosed,
  });
  await printing.types("!2");
  expect(printing.hints).toEqual(["Too late: these choices are closed. Wait for the next ones."]);
});

// time: controlled
test("a number without the prefix gets a hint once in ten minutes, if it is a choice of the newest message", async () => {
  startClock();
  try {
    const question = shown("question", { buttons: choices("a", "b") });
    const { sent, hints, types } = setUp([shown("receipt", { user: ANN.id }), question]);
    await types("3");
    await types("2 or so");
    expect(hints).toEqual([]);
    await types("2");
    jest.advanceTimersByTime(590_000);
    await types("1");
    expect(hints).toEqual(["To answer, type !2."]);
    jest.advanceTimersByTime(20_000);
    await types("1");
    expect([sent, hints]).toEqual([[], ["To answer, type !2.", "To answer, type !1."]]);
    const over = setUp([shown("end", {}), question]);
    await over.types("2");
    expect(over.hints).toEqual([]);
  } finally {
    jest.useRealTimers();
  }
});
