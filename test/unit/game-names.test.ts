import { readCommand, writeCommand } from "../../demo/game/rules/game-names";
import { showHelp, showUnknownCommand } from "../../demo/game/view/cards";

const FIRST = { own: "trivia", all: ["trivia", "quiz"] };
const SECOND = { own: "quiz", all: ["trivia", "quiz"] };

test.each<[string, readonly string[] | undefined, readonly string[] | undefined]>([
  ["", [""], undefined],
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

test("the help of the first game names the other games; the help of another game shows commands with the game's name", () => {
  const first = showHelp(FIRST).text;
  expect(first).toContain("`start` · ");
  expect(first).toContain("Other games: `quiz`.");
  const second = showHelp(SECOND).text;
  expect(second).toContain("`quiz start` · ");
  expect(second).not.toContain("Other games");
  expect(showUnknownCommand("dance", SECOND).text).toContain("with only `quiz`");
});
