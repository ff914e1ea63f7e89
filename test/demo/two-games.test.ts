import { randomUUID } from "node:crypto";
import { openChat, startGame, type Chat } from "../harness/game-chat";
import type { TestProcess } from "../harness/processes";
import { sharedService } from "../harness/shared-service";

const service = sharedService();
let games: readonly TestProcess[];

beforeAll(async () => {
  const start = (name: string): Promise<TestProcess> =>
    startGame(service.core.port, {
      GAME_NAME: name,
      GAMES: "trivia,quiz",
      FOLLOW_GROUP: `${name}-${randomUUID()}`,
    });
  games = await Promise.all(["trivia", "quiz"].map(start));
});
afterAll(() => Promise.all(games.map((game) => game.stop())));

const newChat = async () => openChat(service.url, await service.workspaces.make());

/**
 * Asks each game for help in a separate channel, and waits for both answers. A game handles the events of a workspace
 * in order, so a game that has answered has also handled all earlier events. Returns the earlier answers.
 */
async function answersOf(chat: Chat): Promise<readonly string[]> {
  const channel = "last";
  for (const name of ["trivia", "quiz"]) {
    await chat.command("ann", name, channel);
    await chat.sees("message.create", "help", { channel });
  }
  const answers = chat.shown.filter((event) => event.channel !== channel);
  return answers.map(({ type, message }) => `${type} ${message.kind}: ${message.text}`);
}

test.each<[string, RegExp]>([
  ["start", /^message\.create game_start: /],
  ["trivia start", /^message\.create game_start: /],
  ["quiz start", /^message\.create game_start: /],
  ["", /^message\.create help: .*`start` · .*Other games: `quiz`\./s],
  ["help", /^message\.create help: .*`start` · /s],
  ["quiz", /^message\.create help: .*`quiz start` · /s],
  ["quiz help", /^message\.create help: .*`quiz start` · /s],
  ["dance", /^message\.ephemeral card: Unknown command “dance”\. .* without arguments/],
  ["quiz dance", /^message\.ephemeral card: Unknown command “dance”\. .* with only `quiz`/],
  ["stop", /^message\.ephemeral card: No game .* with `start`/],
  ["quiz stop", /^message\.ephemeral card: No game .* with `quiz start`/],
])("of two games in a workspace, exactly one answers the command %j", async (text, answer) => {
  const chat = await newChat();
  await chat.command("ann", text);
  const answers = await answersOf(chat);
  expect(answers).toHaveLength(1);
  expect(answers[0]).toMatch(answer);
});

test("a pressed button is handled only by the game that posted it, even if two games run in one channel", async () => {
  const chat = await newChat();
  await chat.command("ann", "quiz start");
  const quiz = await chat.sees("message.create", "game_start");
  await chat.command("ann", "start");
  const trivia = await chat.sees("message.create", "game_start");
  for (const lobby of [quiz, trivia]) await chat.press("bob", lobby, "Join");
  for (const lobby of [quiz, trivia]) await chat.press("ann", lobby, "Start");
  const answers = await answersOf(chat);
  expect(answers.filter((answer) => answer.startsWith("message.ephemeral"))).toEqual([
    "message.ephemeral card: You are in. The first question comes when the game starts.",
    "message.ephemeral card: You are in. The first question comes when the game starts.",
  ]);
  const questions = chat.shown.filter(({ message }) => message.kind === "question");
  expect(questions.map(({ message }) => message.id).toSorted()).toEqual(
    [quiz, trivia].map(({ message }) => message.id).toSorted(),
  );
});

test("after a game is stopped, its buttons are still handled only by the program that posted them", async () => {
  const chat = await newChat();
  for (const text of ["quiz start", "start"]) {
    await chat.command("ann", text);
    const lobby = await chat.sees("message.create", "game_start");
    await chat.command("ann", text.replace("start", "stop"));
    await chat.sees("message.update", "game_end");
    await chat.press("bob", lobby, "Join");
    const over = await chat.sees("message.ephemeral", "card");
    expect(over.message.text).toContain(`That game is over. Send the command with \`${text}\``);
  }
  const ephemerals = (await answersOf(chat)).filter((answer) => answer.startsWith("message.ephemeral"));
  expect(ephemerals).toHaveLength(2);
});
