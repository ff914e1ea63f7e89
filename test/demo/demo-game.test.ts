import { randomUUID } from "node:crypto";
import type { TestProcess } from "../harness/processes";
import { openChat, startGame, type Chat } from "../harness/game-chat";
import { sharedService } from "../harness/shared-service";

/**
 * Plays a game of two questions. Returns the lobby, the final board, and the message that offers the winner a rematch.
 */
async function playThrough(chat: Chat, channel: string) {
  const [ann, bob] = [`ann-${channel}`, `bob-${channel}`];
  await chat.command(ann, "start", channel);
  const lobby = await chat.sees("message.create", "game_start", { channel });
  await chat.press(bob, lobby, "Join");
  await chat.sees("message.ephemeral", "card", { channel, user: bob });
  await chat.press(ann, lobby, "Start");
  const choice = await chat.sees("message.update", "question", { channel });
  await chat.press(ann, choice, "A · ");
  await chat.press(bob, choice, "B · ");
  const timeUp = await chat.sees("message.update", "time_up", { channel });
  expect(timeUp.message.text).toContain("The answer:");
  const number = await chat.sees("message.update", "question", { channel });
  expect(number.message).toMatchObject({ id: lobby.message.id, awaitsReply: true, buttons: [] });
  await chat.types(ann, "1000", { channel, replyTo: number.message.id });
  await chat.types(bob, "50", { channel });
  await chat.sees("message.update", "time_up", { channel });
  const board = await chat.sees("message.update", "game_end", { channel });
  const offer = await chat.sees("dm.create", "card");
  return { lobby, board, offer };
}

const service = sharedService();
let game: TestProcess;

beforeAll(async () => {
  game = await startGame(service.core.port, { FOLLOW_GROUP: `trivia-${randomUUID()}` });
});
afterAll(async () => {
  await game.stop();
});

const newChat = async () => openChat(service.url, await service.workspaces.make());

// contract: text-escaped, outbound-channel
test("games in several channels and workspaces run at the same time, each in one message, and offer a rematch", async () => {
  const [chat, other] = await Promise.all([newChat(), newChat()]);
  const games = [playThrough(other, "c1"), playThrough(chat, "c1"), playThrough(chat, "c2")] as const;
  const [first, ...others] = await Promise.all(games);
  const { lobby, board, offer } = first;
  expect(new Set([first, ...others].map((each) => each.lobby.message.id)).size).toBe(3);
  expect(lobby.message.text).toContain("\\*ann-c1\\*");
  expect(board.message.id).toBe(lobby.message.id);
  expect(board.message.data).toMatchObject({ phase: "over", players: 2 });
  const live = other.shown.filter(({ type }) => type === "message.update");
  expect(new Set(live.map(({ message }) => message.id))).toEqual(new Set([lobby.message.id]));
  const kinds = live.map(({ message }) => message.kind);
  const phases = kinds.filter((kind) => kind !== "answer_update" && kind !== "game_start");
  expect(phases).toEqual(["question", "time_up", "question", "time_up", "game_end"]);
  const links = live.flatMap(({ message }) => message.buttons.flat()).filter((button) => "url" in button);
  expect(links).toHaveLength(2);

  const winner = offer.user ?? "";
  await other.press(winner, offer, "Rematch", `dm:${winner}`);
  await other.sees("message.create", "game_start", { channel: "c1" });
  const after = await other.sees("message.update", "card", { channel: `dm:${winner}` });
  expect(after.message).toMatchObject({ id: offer.message.id, buttons: [] });
});

test("pictures are served as PNG, and unknown paths are answered with 404", async () => {
  const base = `http://127.0.0.1:${game.port}`;
  const picture = await fetch(`${base}/flag-1.png`);
  expect([picture.status, picture.headers.get("content-type")]).toEqual([200, "image/png"]);
  expect((await fetch(`${base}/toString.png`)).status).toBe(404);
});
