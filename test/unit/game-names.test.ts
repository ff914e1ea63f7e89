import { readCommand, writeCommand } from "../../kit/game/names";
import { RULES, table, texts } from "../harness/game-table";

const FIRST = { own: "trivia", all: ["trivia", "quiz"] };
const SECOND = { own: "quiz", all: ["trivia", "quiz"] };

test.each<[string, readonly string[] | undefined, readonly string[] | undefined]>([
  ["", [], undefined],
  ["start now", ["start", "now"], undefined],
  ["dance", ["dance"], undefined],
  ["trivia", [], undefined],
  [" Trivia  start ", ["start"], undefined],
  ["quiz", undefined, []],
  ["QUIZ start", undefined, ["start"]],
  ["quizzes", ["quizzes"], undefined],
])("of two games, at most one reads the command %j", (text, first, second) => {
  expect(readCommand(text, FIRST)).toEqual(first);
  expect(readCommand(text, SECOND)).toEqual(second);
});

test("if a workspace has only one game, the game reads every command, with or without the game's name", () => {
  const alone = { own: "trivia", all: ["trivia"] };
  expect(["start", "trivia start", "quiz"].map((text) => readCommand(text, alone))).toEqual([
    ["start"],
    ["start"],
    ["quiz"],
  ]);
});

test("a game accepts every command that it shows to members", () => {
  expect([FIRST, SECOND].map((names) => writeCommand("start", names))).toEqual(["start", "quiz start"]);
  for (const names of [FIRST, SECOND]) {
    expect(readCommand(writeCommand("start", names), names)).toEqual(["start"]);
  }
});

test("the help of the first game names the other games; the help of another game shows commands with the game's name", async () => {
  const games = FIRST.all;
  const trivia = table({ ...RULES, otherGames: ["quiz"] }, { games });
  const first = texts(await trivia.command("ann", ""));
  expect(first).toContain("`start` · ");
  expect(first).toContain("Other games: `quiz`.");
  const quiz = table({ ...RULES, name: "quiz", otherGames: ["trivia"] }, { games });
  const second = texts(await quiz.command("ann", "quiz"));
  expect(second).toContain("`quiz start` · ");
  expect(second).not.toContain("Other games");
  expect(texts(await quiz.command("ann", "quiz dance"))).toContain("with only `quiz`");
});
