import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { testFolder } from "../../../../test/harness/folder";
import { openChat } from "../../../../test/harness/game-chat";
import { startTestRedis } from "../../../../test/harness/redis";
import { freePort, startCore, TOKENS } from "../../../../test/harness/processes";
import { startProgram } from "../../../../test/harness/program";
import { startService, type TestService } from "../../../../test/harness/service";
import { until } from "../../../../test/harness/wait";
import { createGame } from "../../game";
import { startGame, type RunningGame, type StartOptions } from "../../start";
import { memoryStore } from "../../store";
import { keptLog, newGroup } from "./follow-with-link";

const folder = testFolder();
const running = new Set<RunningGame>();
let service: TestService;
beforeAll(async () => {
  service = await startService({ core: { CORE_LISTEN: `127.0.0.1:${await freePort()}` } });
});
afterEach(async () => {
  await Promise.all([...running].map((game) => game.stop()));
  running.clear();
});
afterAll(() => service.close());

/** A game that counts, with all kinds of handlers. */
function countingGame() {
  const game = createGame({ name: "count", state: () => ({ value: 0 }) });
  const again = game.action("again", (turn) => {
    turn.state.value += 1;
    turn.update({ text: `now ${turn.state.value}`, buttons: [[again("Again")]] });
  });
  game.command("up", "counts", (turn) => {
    turn.state.value += 1;
    turn.reply({ text: `now ${turn.state.value}`, buttons: [[again("Again")]] });
  });
  const ring = game.timer("ring", (turn) => void turn.reply(`ring at ${turn.state.value}`));
  game.command("later", "rings later", (turn) => {
    turn.after("1 s", ring());
    turn.reply("wait");
  });
  game.command("fail", "fails", () => {
    throw new Error("a bug");
  });
  return game;
}

async function start(options: StartOptions = {}): Promise<RunningGame> {
  const game = await startGame(countingGame(), {
    coreAddress: `127.0.0.1:${service.core.port}`,
    coreToken: TOKENS.game,
    group: newGroup(),
    isProgram: false,
    environment: {},
    log: keptLog(),
    store: memoryStore(),
    ...options,
  });
  running.add(game);
  return game;
}

async function newChat() {
  const workspace = await service.workspaces.make();
  const chat = openChat(service.url, workspace);
  /** Waits for the next card, and expects its text. */
  const shows = async (text: string, type = "message.create") => {
    const shown = await chat.sees(type, "card");
    expect(shown.message.text).toBe(text);
    return shown;
  };
  return { ...chat, shows };
}

const newFolder = (): string => join(folder, newGroup());

test("a game answers commands, presses and timers", async () => {
  const game = await start();
  expect([game.isFollowing, game.healthPort]).toEqual([true, undefined]);
  const chat = await newChat();
  await chat.command("ann", "up");
  const shown = await chat.shows("now 1");
  await chat.press("bob", shown, "Again");
  expect((await chat.shows("now 2", "message.update")).message.id).toBe(shown.message.id);
  await chat.command("ann", "later");
  await chat.shows("wait");
  await chat.shows("ring at 2");
});

test("a game with a Redis store continues in the next process, including its timers", async () => {
  const port = await freePort();
  const redis = await startTestRedis(["--port", String(port)]);
  const group = newGroup();
  const store = `redis://127.0.0.1:${port}`;
  const first = await start({ group, store });
  const chat = await newChat();
  await chat.command("ann", "up");
  const shown = await chat.shows("now 1");
  await chat.command("ann", "later");
  await chat.shows("wait");
  await first.stop();
  const second = await start({ group, store });
  await chat.shows("ring at 1");
  await chat.press("bob", shown, "Again");
  await chat.shows("now 2", "message.update");
  await second.stop();
  await redis.close();
});

test("probes and metrics are available at HEALTH_LISTEN, and the metrics have the label `game`", async () => {
  const game = await start({ healthListen: "127.0.0.1:0" });
  const chat = await newChat();
  await chat.command("ann", "up");
  await chat.shows("now 1");
  await chat.command("ann", "fail");
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${game.healthPort}${path}`);
    return { status: response.status, text: await response.text() };
  };
  expect((await get("/live")).status).toBe(200);
  await until("the game is ready", async () => (await get("/ready")).status === 200);
  const metric = async (line: string) => (await get("/metrics")).text.split("\n").includes(line);
  await until("the failure is counted", () =>
    metric('chatbridge_game_handler_failures_total{game="count"} 1'),
  );
  for (const line of [
    'chatbridge_game_events_total{game="count",outcome="handled"} 1',
    'chatbridge_game_published_total{game="count"} 1',
    'chatbridge_game_handler_seconds_count{game="count"} 2',
    'chatbridge_game_workspaces{game="count"} 1',
    'chatbridge_game_following{game="count"} 1',
  ])
    expect([line, await metric(line)]).toEqual([line, true]);
  const { text } = await get("/metrics");
  const own = text.split("\n").filter((line) => line.startsWith("chatbridge_game_"));
  expect(own.filter((line) => !line.includes('game="count"'))).toEqual([]);
});

test("the start fails if core rejects the token, if a setting is invalid, or if the folder cannot be used", async () => {
  await expect(start({ coreToken: "unknown-to-core" })).rejects.toThrow(/core rejects this game; check/);
  await expect(start({ coreAddress: "nowhere" })).rejects.toThrow(/CORE_ADDRESS/);
  const file = join(folder, "file");
  writeFileSync(file, "");
  await expect(start({ store: join(file, "state") })).rejects.toThrow(/GAME_STORE cannot be used: .*file/);
});

test("a game whose state is only in memory logs a warning", async () => {
  const log = keptLog();
  await start({ log, store: "" });
  expect(log.lines).toContainEqual(
    expect.objectContaining({ level: "warn", message: expect.stringContaining("the state is lost") }),
  );
});

describe("as a program", () => {
  const script = () => {
    const path = newFolder();
    mkdirSync(path, { recursive: true });
    const kit = JSON.stringify(join(__dirname, "../../../../dist/kit/game/index.js"));
    writeFileSync(
      join(path, "game.js"),
      `const { createGame, startGame } = require(${kit});
       const game = createGame({ name: "count", state: () => ({ value: 0 }) });
       game.command("up", "counts", (turn) => void turn.reply("now " + ++turn.state.value));
       game.command("hang", "hangs", () => new Promise(() => console.log("hanging")));
       void startGame(game);`,
    );
    return path;
  };
  const run = (cwd: string, environment: Record<string, string> = {}) =>
    startProgram([process.execPath, "game.js"], {
      cwd,
      environment: {
        CORE_ADDRESS: `127.0.0.1:${service.core.port}`,
        CORE_TOKEN: TOKENS.game,
        GAME_STORE: "state",
        ...environment,
      },
    });
  const ready = (program: ReturnType<typeof run>) =>
    until("the game is ready", () => program.output().includes("count is ready"));

  test("SIGTERM and SIGKILL lose no state", async () => {
    const cwd = script();
    const environment = { FOLLOW_GROUP: newGroup() };
    const chat = await newChat();
    for (const [i, signal] of (["SIGTERM", "SIGKILL", "SIGINT"] as const).entries()) {
      const program = run(cwd, environment);
      await ready(program);
      await chat.command("ann", "up");
      await chat.shows(`now ${i + 1}`);
      expect(await program.stop(signal)).toBe(signal === "SIGKILL" ? null : 0);
    }
  });

  test("the exit code is 1 for a rejected token, and 78 for invalid settings", async () => {
    const cwd = script();
    const rejected = run(cwd, { CORE_TOKEN: "unknown-to-core" });
    expect(await rejected.exited).toBe(1);
    expect(rejected.output()).toContain("cannot start: core rejects this game; check that CORE_TOKEN");
    expect(rejected.output()).not.toContain("unknown-to-core");
    const invalid = run(cwd, { GAMES: "trivia", HEALTH_LISTEN: "nowhere" });
    expect(await invalid.exited).toBe(78);
    expect(invalid.output()).toContain("- GAMES must contain count");
    expect(invalid.output()).toContain("- HEALTH_LISTEN must be host:port");
  });

  test("a signal stops the game while the game waits for core", async () => {
    const program = run(script(), { CORE_ADDRESS: `127.0.0.1:${await freePort()}` });
    await until("the game retries", () => program.output().includes("not following, retrying"));
    expect(await program.stop("SIGTERM")).toBe(0);
  });

  test("a second signal stops the game at once while a handler hangs", async () => {
    const program = run(script(), { FOLLOW_GROUP: newGroup() });
    await ready(program);
    const chat = await newChat();
    await chat.command("ann", "hang");
    await until("the handler hangs", () => program.output().includes("hanging"));
    const exited = program.stop("SIGTERM");
    await until("the game stops", () => program.output().includes('"stopping"'));
    await program.stop("SIGINT");
    expect(await exited).toBe(1);
  });
});

test("a game is not ready until the store answers", async () => {
  const store = memoryStore();
  let isDown = true;
  const wakes = () => (isDown ? Promise.reject(new Error("the store is down")) : store.wakes());
  const game = await start({ healthListen: "127.0.0.1:0", store: { ...store, wakes } });
  const reason = async () => {
    const { reason: why } = (await (await fetch(`http://127.0.0.1:${game.healthPort}/ready`)).json()) as {
      reason?: string;
    };
    return why;
  };
  await until("the game says why it is not ready", async () => (await reason())?.includes("the store"));
  isDown = false;
  await until("the game is ready", async () => (await reason()) === undefined);
});

test("a game is not ready while core is down, and continues when core is up again", async () => {
  const game = await start({ healthListen: "127.0.0.1:0" });
  const chat = await newChat();
  await chat.command("ann", "up");
  const shown = await chat.shows("now 1");
  await service.core.stop("SIGKILL");
  const isReady = async (port: number | undefined) => (await fetch(`http://127.0.0.1:${port}/ready`)).ok;
  await until("the game is not ready", async () => !(await isReady(game.healthPort)));
  const core = await startCore(service.redis.url, { CORE_LISTEN: `127.0.0.1:${service.core.port}` });
  await until(
    "the game and the edge are ready",
    async () => (await isReady(game.healthPort)) && (await isReady(service.edge.healthPort)),
  );
  await chat.press("ann", shown, "Again");
  await chat.shows("now 2", "message.update");
  await game.stop();
  await core.stop();
});
