import { existsSync } from "node:fs";
import { join } from "node:path";
import bank from "../../demo/game/questions/bank.json";
import { drawQuestions } from "../../demo/game/questions/draw-questions";
import type { Output } from "../../demo/game/rules/input-output";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { atQuestion, CHOICE, kinds, MESSAGE_ID, table, texts } from "../harness/game-table";

test("a live game has one message, which is created with the lobby and updated until the final board", () => {
  const here = table();
  expect(kinds(here.command("ann", "start"))).toEqual(["message.create GAME_START"]);
  expect(kinds(here.press("ann", "begin:e1"))).toEqual(["message.update QUESTION"]);
  const answered = ["message.ephemeral CARD", "message.update TIME_UP"];
  expect(kinds(here.press("ann", "answer:0:1:e1"))).toEqual(answered);
  expect(kinds(here.after(5_000))).toEqual(["message.update QUESTION"]);
  expect(kinds(here.types("ann", "99"))).toEqual(answered);
  expect(kinds(here.after(5_000))).toEqual(["message.update GAME_END", "dm.create CARD"]);
  expect(here.after(60_000)).toEqual([]);
});

test.each<[string, readonly string[], number, string]>([
  ["locked in", ["answer:0:0:e1"], 0, "Locked in: **A · wrong**"],
  ["already answered", ["answer:0:0:e1", "answer:0:1:e1"], 0, "You have already answered: **A · wrong**"],
  ["too late", ["answer:0:1:e1"], 10_000, "Too late"],
  ["over", ["answer:0:1:e99"], 0, "That game is over"],
])(
  "the response to a pressed answer is shown only to the member who pressed it: %s",
  (name, presses, afterMs, text) => {
    const about = name === "over" ? { messageId: MESSAGE_ID } : { ref: "e1" };
    const here = atQuestion();
    here.after(afterMs);
    const [outputs = []] = presses.map((press) => here.press("bob", press)).toReversed();
    const ephemerals = outputs.filter(({ type }) => type === "message.ephemeral");
    expect(ephemerals).toMatchObject([{ channel: "c1", user: "bob", about }]);
    expect(texts(ephemerals)).toContain(text);
  },
);

test("a question's message shows the picture and the buttons, and does not reveal the answer", () => {
  const here = table();
  here.command("ann", "start");
  const [question] = here.press("ann", "begin:e1");
  const button = (label: string, value: string) => ({ label, press: { $case: "action", value } });
  const buttons = [button("A · wrong", "answer:0:0:e1"), button("B · right_one", "answer:0:1:e1")];
  const options = [...CHOICE.options];
  const data = { phase: "question", question: 1, questions: 2, answered: 0, options, seconds: 10 };
  expect(question?.content).toMatchObject({ image: CHOICE.picture, rows: [{ buttons }], data });
  for (const field of ["right", "results"]) expect(question?.content.data).not.toHaveProperty(field);
});

// contract: text-escaped
test("member names and question text are escaped; a right answer earns points, and an earlier right answer earns more", () => {
  expect(texts(table().command("bob", "start"))).toContain("\\*Bob\\*\\|\\~");
  const here = table();
  here.command("ann", "start");
  here.press("bob", "join:e1");
  expect(texts(here.press("ann", "begin:e1"))).toContain("> Which of \\*these\\* is 2\\|3?");
  expect(texts(here.press("ann", "answer:0:1:e1"))).toContain("**B · right\\_one**");
  here.after(5_000);
  const timeUp = here.press("bob", "answer:0:1:e1").at(-1);
  expect(timeUp?.content.text).toContain("Ann +150 · \\*Bob\\*\\|\\~ +125");
  const more = { label: "Read more", press: { $case: "url", value: "https://example.com/more" } };
  expect(timeUp?.content.rows).toEqual([{ buttons: [more] }]);
});

test("a receipt has the member's answer as data; a reveal has the right answer, and everyone's answer and points", () => {
  const here = atQuestion();
  const receiptOf = (outputs: readonly Output[]) =>
    outputs.find(({ type }) => type === "message.ephemeral")?.content.data;
  const where = { phase: "question", question: 1 };
  expect(receiptOf(here.press("ann", "answer:0:1:e1"))).toEqual({ ...where, answer: 1 });
  const [receipt, reveal] = here.press("bob", "answer:0:0:e1");
  expect(receipt?.content.data).toEqual({ ...where, answer: 0 });
  const results = [
    { user: "ann", answer: 1, points: 150 },
    { user: "bob", answer: 0, points: 0 },
  ];
  expect(reveal?.content.data).toMatchObject({ phase: "reveal", question: 1, right: 1, results });
  here.after(5_000);
  expect(receiptOf(here.types("ann", "90"))).toEqual({ phase: "question", question: 2, answer: 90 });
  expect(receiptOf(here.types("bob", "many", "e1"))).toEqual({ phase: "question", question: 2 });
  const exact = [
    { user: "ann", answer: 90, points: 0 },
    { user: "bob", answer: 100, points: 200 },
  ];
  expect(here.types("bob", "100").at(-1)?.content.data).toMatchObject({
    right: 100,
    unit: "keys",
    results: exact,
  });
  expect(here.after(5_000)[0]?.content.data).not.toHaveProperty("results");
});

test("the answer to a number question is a reply, which must be a number; the closest answers win", () => {
  const here = atQuestion();
  for (const who of ["ann", "bob"]) here.press(who, "answer:0:0:e1");
  const [asked] = here.after(5_000);
  expect(asked?.content).toMatchObject({ kind: MessageKind.QUESTION, awaitsReply: true });
  expect(asked?.content.rows).toBeUndefined();
  expect(here.types("bob", "I think 100")).toEqual([]);
  expect(here.types("bob", "100", null)).toEqual([]);
  expect(texts(here.types("bob", "many", "e1"))).toContain("That is not a number");
  expect(texts(here.types("ann", "90"))).toContain("Locked in: **90 keys**");
  expect(texts(here.types("bob", "110", "e1"))).toContain("Ann +150 · \\*Bob\\*\\|\\~ +150");
  const end = here.after(5_000).map((output) => ("user" in output ? output.user : output.type));
  expect(end).toEqual(["message.update", "ann", "bob"]);
});

test.each([1, 2, 5, 15])(
  "the seed determines the %i questions of a game; if there are several, only the last is a number question",
  (count) => {
    const draw = (seed: string) => drawQuestions(count, seed, (name) => `http://pictures/${name}.png`);
    const drawn = draw("a");
    expect(draw("a")).toEqual(drawn);
    expect(draw("b")).not.toEqual(drawn);
    expect(new Set(drawn.map((question) => JSON.stringify(question))).size).toBe(count);
    const numberAt = drawn.flatMap(({ kind }, i) => (kind === "number" ? [i] : []));
    expect(numberAt).toEqual(count >= 2 ? [count - 1] : []);
  },
);

test("every picture of a question exists", () => {
  const names = bank.choices.flatMap(({ picture }) => picture ?? []);
  expect(names.length).toBeGreaterThan(0);
  const folder = join(__dirname, "../../demo/game/pictures");
  expect(names.filter((name) => !existsSync(join(folder, `${name}.png`)))).toEqual([]);
});

test("a rematch button that is pressed in a DM opens a lobby in the game's channel, and the DM with the button is updated", () => {
  const here = table();
  expect(here.press("ann", "rematch:c9", "dm:ann")).toMatchObject([
    { type: "message.create", channel: "c9", content: { kind: MessageKind.GAME_START } },
    { type: "message.update", channel: "dm:ann", target: { messageId: MESSAGE_ID } },
  ]);
  expect(texts(here.press("ann", "rematch:c9", "dm:ann"))).toContain(
    "A game is already running in that channel",
  );
});

test("if the workspace already has its maximum number of games, a member who presses a rematch button is told so", () => {
  const here = table();
  const pressed = Array.from({ length: 101 }, (_, i) => texts(here.press("ann", `rematch:c${i}`, "dm:ann")));
  expect(pressed[99]).toContain("The lobby is open");
  expect(pressed[100]).toContain("Too many games are running");
});

// contract: message-awaits-reply
test.each([
  ["without `replyTo`", undefined],
  ["with the prompt as `replyTo`", "e1"],
  ["with another message as `replyTo`", null],
] as const)(
  "a prompt in a DM is answered by the member's next typed message there, and by no later message: %s",
  (_name, replyTo) => {
    const here = table();
    const prompt = { type: "dm.create", user: "ann", ref: "e1", content: { awaitsReply: true } };
    expect(here.command("ann", "suggest")).toMatchObject([prompt]);
    expect(here.types("ann", "volcanoes", undefined, "c1")).toEqual([]);
    expect(here.types("bob", "volcanoes", undefined, "dm:bob")).toEqual([]);
    const text = "**Ann** suggests a topic:\n\n> \\*volcanoes\\*";
    expect(here.types("ann", "*volcanoes*", replyTo, "dm:ann")).toMatchObject([
      { type: "message.update", channel: "dm:ann", target: { ref: "e1" } },
      { type: "message.create", channel: "c1", content: { text } },
    ]);
    expect(here.types("ann", "more", undefined, "dm:ann")).toEqual([]);
  },
);

test.each<[string, string]>([
  ["", "message.create HELP"],
  ["help", "message.create HELP"],
  ["suggest", "dm.create CARD"],
  ["stop", "message.ephemeral CARD"],
  ["dance", "message.ephemeral CARD"],
])("the command %j is answered with %s", (text, answer) => {
  expect(kinds(table().command("ann", text))).toEqual([answer]);
});

test("only the member who opened a game can stop it", () => {
  const here = atQuestion();
  expect(kinds(here.command("bob", "stop"))).toEqual(["message.ephemeral CARD"]);
  expect(kinds(here.command("ann", "stop"))).toEqual(["message.update GAME_END"]);
});

test("a member's name cannot change the direction of the text after it, and an invisible name gets a placeholder", () => {
  const here = table();
  const boards = [
    here.command("Eve\u202e", "start"),
    here.press("محمد 🦊", "join:e1"),
    here.press("\u3164", "join:e1"),
  ];
  expect(texts(boards[0] ?? [])).toContain("**Trivia!** Eve opens a game.");
  here.press("Eve\u202e", "begin:e1");
  for (const who of ["Eve\u202e", "محمد 🦊"]) here.press(who, "answer:0:1:e1");
  const reveal = here.press("\u3164", "answer:0:1:e1").at(-1);
  expect(reveal?.content.text).toContain("\nEve +150 · \u2068محمد 🦊\u2069 +150 · someone +150");
});

test("a typed number with two meanings is not accepted, and the notice says how to type each meaning; a reply may have any unit", () => {
  const here = atQuestion();
  for (const who of ["ann", "bob"]) here.press(who, "answer:0:0:e1");
  here.after(5_000);
  const unclear = here.types("ann", "42,195");
  expect(kinds(unclear)).toEqual(["message.ephemeral CARD"]);
  expect(texts(unclear)).toBe(
    "Do you mean 42195 or 42.195? Type `42195` for the first, or `42.1950` for the second.",
  );
  expect(here.types("ann", "42 minutes")).toEqual([]);
  expect(here.types("ann", "42,195", null)).toEqual([]);
  expect(texts(here.types("ann", "１００ keys"))).toContain("Locked in: **100 keys**");
  expect(texts(here.types("bob", "99 or so", "e1"))).toContain("That is not a number");
  expect(texts(here.types("bob", "99 bits", "e1"))).toContain("Locked in: **99 keys**");
});

test("a member who joins during a game is told that the game has started", () => {
  const here = table();
  here.command("ann", "start");
  expect(texts(here.press("bob", "join:e1"))).toContain("The first question comes when the game starts.");
  here.press("ann", "begin:e1");
  const late = here.press("cyd", "join:e1").filter(({ type }) => type === "message.ephemeral");
  expect(texts(late)).toBe("You are in. The game has already started.");
});

test("only players with points get a medal, and an unanswered question says that nobody answered", () => {
  const here = atQuestion();
  expect(texts(here.after(10_000))).toContain("Nobody answered.");
  here.after(5_000);
  here.types("ann", "100");
  here.after(10_000);
  expect(texts(here.after(5_000))).toContain("🥇 **Ann** · 200 points\n– **\\*Bob\\*\\|\\~** · 0 points");
});
