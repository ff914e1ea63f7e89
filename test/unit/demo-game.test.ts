import { drawQuestions } from "../../demo/game/questions/draw-questions";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import type { Output } from "../../demo/game/rules/output";
import { atQuestion, CHOICE, kinds, table, texts } from "../harness/game-table";

test("a live game keeps one message: created with its lobby, updated to its final board", () => {
  const here = table();
  expect(kinds(here.command("ann", "start"))).toEqual(["message.create GAME_START"]);
  expect(kinds(here.press("ann", "begin:e1"))).toEqual(["message.update QUESTION"]);
  expect(kinds(here.press("ann", "answer:0:1:e1"))).toEqual([
    "message.update TIME_UP",
    "message.ephemeral CARD",
  ]);
  expect(kinds(here.after(5_000))).toEqual(["message.update QUESTION"]);
  expect(kinds(here.types("ann", "99"))).toEqual(["message.update TIME_UP", "message.ephemeral CARD"]);
  expect(kinds(here.after(5_000))).toEqual(["message.update GAME_END", "dm.create CARD"]);
  expect(here.after(60_000)).toEqual([]);
});

test.each<[string, (here: ReturnType<typeof table>) => readonly Output[], string]>([
  ["locked in", (here) => here.press("bob", "answer:0:0:e1"), "Locked in: **A · wrong**"],
  [
    "already answered",
    (here) => {
      here.press("bob", "answer:0:0:e1");
      return here.press("bob", "answer:0:1:e1");
    },
    "You have already answered: **A · wrong**",
  ],
  [
    "too late",
    (here) => {
      here.after(10_000);
      return here.press("bob", "answer:0:1:e1");
    },
    "Too late",
  ],
  ["over", (here) => here.press("bob", "answer:0:1:e99"), "That game is over"],
])("a press on an answer is answered %s to its member alone", (_name, press, text) => {
  const outputs = press(atQuestion()).filter(({ type }) => type === "message.ephemeral");
  expect(outputs).toHaveLength(1);
  expect(outputs[0]).toMatchObject({ channel: "c1", user: "bob" });
  expect(texts(outputs)).toContain(text);
});

test("answers that come close together are one update", () => {
  const here = atQuestion();
  here.after(600);
  expect(kinds(here.press("carl", "answer:0:0:e1"))).toContain("message.update ANSWER_UPDATE");
  expect(kinds(here.press("dora", "answer:0:0:e1"))).toEqual(["message.ephemeral CARD"]);
  expect(kinds(here.press("emil", "answer:0:0:e1"))).toEqual(["message.ephemeral CARD"]);
  expect(here.after(499)).toEqual([]);
  const late = here.after(1);
  expect(kinds(late)).toEqual(["message.update ANSWER_UPDATE"]);
  expect(texts(late)).toContain("3 of 5 have answered");
});

test("a question shows its picture and its buttons, and gives nothing away", () => {
  const here = table();
  here.command("ann", "start");
  const [question] = here.press("ann", "begin:e1");
  expect(question?.content).toMatchObject({
    image: CHOICE.picture,
    rows: [
      {
        buttons: [
          { label: "A · wrong", press: { $case: "action", value: "answer:0:0:e1" } },
          { label: "B · right_one", press: { $case: "action", value: "answer:0:1:e1" } },
        ],
      },
    ],
    data: { phase: "question", question: 1, questions: 2, answered: 0 },
  });
  expect(JSON.stringify(question?.content.data)).not.toContain("right");
});

// contract: text-escaped
test("names of members and texts of questions are escaped", () => {
  const here = table();
  expect(texts(here.command("bob", "start"))).toContain("\\*Bob\\*\\|\\~");
  expect(texts(here.press("bob", "begin:e1"))).toContain("> Which of \\*these\\* is 2\\|3?");
  expect(texts(here.press("bob", "answer:0:1:e1"))).toContain("**B · right\\_one**");
});

test("the right answer wins points, sooner more, and time up says who had it and where to read more", () => {
  const here = atQuestion();
  here.press("ann", "answer:0:1:e1");
  here.after(5_000);
  const [timeUp] = here.press("bob", "answer:0:1:e1");
  expect(timeUp?.content.text).toContain("Ann +150 · \\*Bob\\*\\|\\~ +125");
  expect(timeUp?.content.rows).toEqual([
    { buttons: [{ label: "Read more", press: { $case: "url", value: "https://example.com/more" } }] },
  ]);
});

describe("a question for a number", () => {
  function atNumber() {
    const here = atQuestion();
    here.press("ann", "answer:0:0:e1");
    here.press("bob", "answer:0:0:e1");
    return { here, asked: here.after(5_000) };
  }

  test("awaits a reply and has no buttons", () => {
    const { asked } = atNumber();
    expect(asked).toMatchObject([{ content: { kind: MessageKind.QUESTION, awaitsReply: true } }]);
    expect(asked[0]?.content.rows).toBeUndefined();
  });

  test.each<[string, string | undefined]>([
    ["a reply to it", "e1"],
    ["a plain message, where the chat has no replies", undefined],
  ])("takes %s", (_name, replyTo) => {
    expect(texts(atNumber().here.types("bob", "1,234", replyTo))).toContain("Locked in: **1234 keys**");
  });

  test.each<[string, string, string | null | undefined]>([
    ["what is said beside the game", "I think 100", undefined],
    ["a reply to something else", "100", null],
  ])("ignores %s", (_name, text, replyTo) => {
    expect(atNumber().here.types("bob", text, replyTo)).toEqual([]);
  });

  test("tells who replies with something else that it wants a number", () => {
    expect(texts(atNumber().here.types("bob", "many", "e1"))).toContain("That is no number");
  });

  test("is won by the closest, all of them when they are as close", () => {
    const { here } = atNumber();
    here.types("ann", "90");
    expect(texts(here.types("bob", "110"))).toContain("Ann +150 · \\*Bob\\*\\|\\~ +150");
    const end = here.after(5_000);
    expect(end.map((output) => ("user" in output ? output.user : output.type))).toEqual([
      "message.update",
      "ann",
      "bob",
    ]);
    expect(texts(here.command("ann", "leaderboard"))).toContain("🥇 **Ann** · 150 points, 1 win");
  });
});

test("a game ends when nobody answers any more, and nobody is offered a rematch", () => {
  const here = atQuestion();
  here.after(10_000);
  here.after(5_000);
  here.after(10_000);
  expect(kinds(here.after(5_000))).toEqual(["message.update GAME_END"]);
});

describe("the questions of a game", () => {
  const pictureUrl = (name: string): string => `http://pictures/${name}.png`;

  test("are the same for the same seed, and others for another", () => {
    expect(drawQuestions(5, "a", pictureUrl)).toEqual(drawQuestions(5, "a", pictureUrl));
    expect(drawQuestions(5, "a", pictureUrl)).not.toEqual(drawQuestions(5, "b", pictureUrl));
  });

  test.each([1, 2, 5, 15])("are %i, different ones, and a number at the end of two or more", (count) => {
    const drawn = drawQuestions(count, "seed", pictureUrl);
    expect(drawn).toHaveLength(count);
    expect(new Set(drawn.map((question) => JSON.stringify(question))).size).toBe(count);
    expect(drawn.map(({ kind }) => kind)).toEqual(
      drawn.map((_, i) => (count >= 2 && i === count - 1 ? "number" : "choice")),
    );
  });
});
