import { isWarning } from "../harness/output";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { startConsumer } from "../harness/consumer";
import { create } from "../harness/contents";
import { openChat, startGame } from "../harness/game-chat";
import { freePort, startCore, type TestProcess } from "../harness/processes";
import { publish, startService, type TestService } from "../harness/service";
import { until } from "../harness/wait";

let service: TestService;
const games = new Set<TestProcess>();

beforeAll(async () => {
  service = await startService({ core: { CORE_LISTEN: `127.0.0.1:${await freePort()}` } });
});
afterEach(async () => {
  await Promise.all([...games].map((game) => game.stop("SIGKILL")));
  games.clear();
});
afterAll(() => service.close());

async function newGame(environment: Record<string, string>): Promise<TestProcess> {
  const game = await startGame(service.core.port, environment);
  games.add(game);
  return game;
}

async function newChat() {
  const workspace = await service.workspaces.make();
  return { ...openChat(service.url, workspace), workspaceId: workspace.id };
}

const isReady = ({ healthPort }: Pick<TestProcess, "healthPort">): Promise<boolean> =>
  fetch(`http://127.0.0.1:${healthPort}/ready`).then(({ ok }) => ok);

test("after a crash, a redelivered event does not cause a second message, and the game in the first message continues", async () => {
  const group = "trivia-crash";
  const chat = await newChat();
  // This consumer acts as a game that dies after it has published a message, but before it acks the event.
  const dying = await startConsumer(service.clients.games, { group, consumer: "one" }).opened();
  await chat.command("ann", "start");
  const [delivery] = await dying.sees(1);
  const [first] = await publish(service.clients, {
    workspaceId: chat.workspaceId,
    idempotencyKey: `${group}/${delivery?.id ?? ""}/0/c`,
    content: create("c1", { kind: MessageKind.GAME_START, text: "the first lobby" }),
  });
  dying.cancel();
  await dying.ended();

  await newGame({ FOLLOW_GROUP: group });
  const lobby = await chat.sees("message.create", "game_start");
  expect(first).toMatchObject({ outcome: { value: { messageId: lobby.message.id } } });
  await chat.command("ann", "stop");
  expect((await chat.sees("message.update", "game_end")).message.id).toBe(lobby.message.id);
  expect(chat.shown.filter(({ type }) => type === "message.create")).toHaveLength(1);
});

test("on SIGTERM, the program ends its games, announces the end in their channels, and exits with 0", async () => {
  const game = await newGame({ FOLLOW_GROUP: "trivia-stop" });
  const chat = await newChat();
  for (const channel of ["c1", "c2"]) {
    await chat.command("ann", "start", channel);
    await chat.sees("message.create", "game_start", { channel });
  }
  expect(await game.stop()).toBe(0);
  for (const channel of ["c1", "c2"]) {
    const end = await chat.sees("message.update", "game_end", { channel });
    expect(end.message.text).toContain("shutting down");
  }
  expect(game.log.filter(isWarning)).toEqual([]);
});

test("a game continues after an outage of core, and receives events again", async () => {
  const game = await newGame({ FOLLOW_GROUP: "trivia-outage" });
  const chat = await newChat();
  await chat.command("ann", "start");
  const lobby = await chat.sees("message.create", "game_start");
  await service.core.stop("SIGKILL");
  await until("the game is not ready", async () => !(await isReady(game)));
  const core = await startCore(service.redis.url, { CORE_LISTEN: `127.0.0.1:${service.core.port}` });
  await until("the game and the edge are ready", async () => (await isReady(game)) && isReady(service.edge));
  await chat.press("ann", lobby, "Start");
  expect((await chat.sees("message.update", "question")).message.id).toBe(lobby.message.id);
  expect(await game.stop()).toBe(0);
  await core.stop();
});
