import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { startConsumer } from "../harness/consumer";
import { openChat, startGame, type Chat } from "../harness/game-chat";
import { freePort, startCore, startEdge, TOKENS, type TestProcess } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { connectToCore, createWorkspace, publish, type CoreClients } from "../harness/service";
import { stopInTime } from "../harness/stopping";
import { until } from "../harness/wait";
import { createWorkspaceApi } from "../harness/workspace-api";

jest.setTimeout(120_000);

let redis: TestRedis;
let corePort: number;
let core: TestProcess;
let edge: TestProcess;
let clients: CoreClients;
const games = new Set<TestProcess>();

const startCoreAgain = (): Promise<TestProcess> =>
  startCore(redis.url, { CORE_LISTEN: `127.0.0.1:${corePort}` });

beforeAll(async () => {
  redis = await startTestRedis();
  corePort = await freePort();
  core = await startCoreAgain();
  edge = await startEdge(corePort);
  clients = connectToCore(corePort);
});
afterEach(async () => {
  await Promise.all([...games].map((game) => game.stop("SIGKILL")));
  games.clear();
});
afterAll(async () => {
  clients.close();
  await edge.stop();
  await core.stop();
  await redis.close();
});

async function newGame(environment: Record<string, string>): Promise<TestProcess> {
  const game = await startGame(corePort, environment);
  games.add(game);
  return game;
}

async function newChat(): Promise<Chat & { readonly workspaceId: string }> {
  const workspace = await createWorkspace(clients);
  return { ...openChat(`http://127.0.0.1:${edge.port}`, workspace), workspaceId: workspace.id };
}

const isFollowing = ({ healthPort }: TestProcess): Promise<boolean> =>
  fetch(`http://127.0.0.1:${healthPort}/ready`).then(({ ok }) => ok);

test("an event that comes again after a crash is not published twice, and its game goes on", async () => {
  const group = "trivia-crash";
  const chat = await newChat();
  // What a process does that dies between its publish and its ack.
  const dying = await startConsumer(clients.games, { group, consumer: "one" }).opened();
  await chat.command("ann", "start");
  const [delivery] = await dying.sees(1);
  const [first] = await publish(clients, {
    workspaceId: chat.workspaceId,
    idempotencyKey: `${group}/${delivery?.id ?? ""}/0/message.create`,
    content: {
      $case: "messageCreate",
      value: { channel: "c1", message: { kind: MessageKind.GAME_START, text: "the first lobby" } },
    },
  });
  dying.cancel();
  await dying.ended();

  await newGame({ FOLLOW_GROUP: group });
  const lobby = await chat.sees("message.create", "game_start");
  expect(first).toMatchObject({ outcome: { value: { messageId: lobby.message.id } } });
  await chat.command("ann", "stop");
  const end = await chat.sees("message.update", "game_end");
  expect(end.message.id).toBe(lobby.message.id);
  expect(chat.shown.filter(({ type }) => type === "message.create")).toHaveLength(1);
});

test("the game goes on when core comes back, and what members do is heard again", async () => {
  const game = await newGame({ FOLLOW_GROUP: "trivia-outage" });
  const chat = await newChat();
  await chat.command("ann", "start");
  const lobby = await chat.sees("message.create", "game_start");
  await core.stop("SIGKILL");
  await until("the game knows", async () => !(await isFollowing(game)), 20_000);
  core = await startCoreAgain();
  await until("the game follows", () => isFollowing(game), 20_000);
  await until(
    "the edge has found core",
    async () => (await fetch(`http://127.0.0.1:${edge.healthPort}/ready`)).ok,
    20_000,
  );
  await chat.press("ann", lobby, "Start");
  const question = await chat.sees("message.update", "question");
  expect(question.message.id).toBe(lobby.message.id);
  expect(await game.stop()).toBe(0);
});

test("a game that is stopped ends its games, says so in their channels, and exits with 0", async () => {
  const game = await newGame({ FOLLOW_GROUP: "trivia-stop" });
  const chat = await newChat();
  for (const channel of ["c1", "c2"]) {
    await chat.command("ann", "start", channel);
    await chat.sees("message.create", "game_start", { channel });
  }
  expect(await stopInTime(game)).toBe(0);
  for (const channel of ["c1", "c2"]) {
    const end = await chat.sees("message.update", "game_end", { channel });
    expect(end.message.text).toContain("goes down");
  }
  expect(game.log.filter(({ level }) => Number(level) >= 40)).toEqual([]);
});

test("a workspace that was disconnected ends its games, and the others go on", async () => {
  // What the end of the lobby publishes is the first thing after the workspace was disconnected.
  const game = await newGame({ FOLLOW_GROUP: "trivia-gone", LOBBY_SECONDS: "5" });
  const [gone, here] = [await newChat(), await newChat()];
  await gone.command("ann", "start");
  await gone.sees("message.create", "game_start");
  await createWorkspaceApi(clients.workspaces).disconnect(gone.workspaceId);
  await until(
    "it is forgotten",
    () => game.log.some(({ msg }) => String(msg).includes("workspace is gone")),
    20_000,
  );
  await here.command("ann", "leaderboard");
  expect((await here.sees("message.create", "leaderboard")).message.text).toContain("Nobody has played yet");
});

describe("the command line", () => {
  const running = new Set<ChildProcess>();
  afterEach(() => {
    for (const child of running) child.kill("SIGKILL");
    running.clear();
  });

  /** Starts it with just this environment. */
  function start(args: readonly string[], environment: Record<string, string> = {}) {
    const main = join(__dirname, "../../dist/demo/game/main.js");
    const child = spawn(process.execPath, [main, ...args], {
      env: { HEALTH_LISTEN: "127.0.0.1:0", PICTURES_LISTEN: "127.0.0.1:0", ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    running.add(child);
    const said = { out: "", errors: "" };
    child.stdout.on("data", (chunk: Buffer) => (said.out += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (said.errors += chunk.toString()));
    const ended = new Promise<{ code: number | null; out: string; errors: string }>((resolve) => {
      child.once("close", (code) => {
        running.delete(child);
        resolve({ code, ...said });
      });
    });
    return { child, said, ended };
  }

  const run = (args: readonly string[], environment: Record<string, string> = {}) =>
    start(args, environment).ended;

  test("--help names every setting and exits with 0", async () => {
    const { code, out } = await run(["--help"]);
    expect(code).toBe(0);
    for (const name of ["CORE_TOKEN", "CORE_ADDRESS", "FOLLOW_GROUP", "PICTURES_URL", "ROUNDS"]) {
      expect(out).toContain(`  ${name}`);
    }
  });

  test("an argument that there is none of exits with 64", async () => {
    expect(await run(["--loud"])).toMatchObject({
      code: 64,
      errors: expect.stringContaining("--help") as string,
    });
  });

  test("faulty settings are all named at once, and exit with 78", async () => {
    const { code, errors } = await run([], {
      CORE_ADDRESS: "nowhere",
      ROUNDS: "0",
      QUESTION_SECONDS: "61",
      FOLLOW_GROUP: "a group",
      PICTURES_URL: "pictures",
    });
    expect(code).toBe(78);
    for (const name of [
      "CORE_TOKEN",
      "CORE_ADDRESS",
      "ROUNDS",
      "QUESTION_SECONDS",
      "FOLLOW_GROUP",
      "PICTURES_URL",
    ]) {
      expect(errors).toMatch(new RegExp(`^ {2}- ${name} `, "m"));
    }
  });

  test.each([
    ["that core does not know", "no-such-token-anywhere"],
    ["of another role", TOKENS.edge],
  ])("a token %s is told of, and exits with 1", async (_name, token) => {
    const { code, errors } = await run([], { CORE_ADDRESS: `127.0.0.1:${corePort}`, CORE_TOKEN: token });
    expect(code).toBe(1);
    expect(errors).toMatch(/^cannot start: core refuses us, is CORE_TOKEN one of the role game\?/);
    expect(errors).not.toContain(token);
  });

  test("without a core it waits for one, and exits with 0 when it is asked to stop", async () => {
    const { child, said, ended } = start([], {
      CORE_ADDRESS: `127.0.0.1:${await freePort()}`,
      CORE_TOKEN: TOKENS.game,
    });
    await until("it has tried twice", () => said.out.split("not following, trying again").length > 2, 20_000);
    expect(said.out).not.toContain("is ready");
    child.kill("SIGTERM");
    expect((await ended).code).toBe(0);
  });
});
