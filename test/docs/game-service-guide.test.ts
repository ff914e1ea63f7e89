import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "@swc/core";
import { docBlocks, docProgram } from "../harness/doc-blocks";
import { testFolder } from "../harness/folder";
import { openChat, type Shown } from "../harness/game-chat";
import { findGo, goEnvironment } from "../programs/go";
import { freePort, startCore, TOKENS } from "../harness/processes";
import { startProgram } from "../harness/program";
import { startService, type TestService } from "../harness/service";
import { until } from "../harness/wait";

const GUIDE = "docs/game-service-guide.md";
const ROOT = join(__dirname, "../..");
/** Timeout in ms. The first compilation with Go takes a long time. */
const COMPILE_MS = 900_000;

let service: TestService;
beforeAll(async () => {
  service = await startService({ core: { CORE_LISTEN: `127.0.0.1:${await freePort()}` } });
});
afterAll(async () => {
  await service.core.stop(); // the core that was started last
  await service.close();
});

/** The guide's programs run in folders outside of this repository, as they do for the guide's readers. */
const folder = testFolder();

/** Returns the path of a new folder that contains a copy of the protos. */
function folderWithProtos(name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  cpSync(join(ROOT, "proto/chatbridge"), join(path, "proto/chatbridge"), { recursive: true });
  return path;
}

const save = (path: string, language: string, name: string) =>
  writeFileSync(join(path, name), docProgram(GUIDE, language, name));

/** Runs the shell block of the guide that contains `text`. */
function runBlock(text: string, cwd: string, env = process.env): void {
  const block = docBlocks(GUIDE, "sh").find((each) => each.includes(text)) ?? "";
  expect(block).toContain(text);
  execFileSync("sh", ["-e", "-c", block], { cwd, env, stdio: "pipe" });
}

/**
 * Runs one of the guide's games, and plays it with requests that a bridge would send. Then restarts core.
 * `hasTwoForPress` says whether the game also answers a button press with a private message.
 */
async function playDice(
  name: string,
  command: readonly [string, ...string[]],
  cwd: string,
  hasTwoForPress = false,
): Promise<void> {
  const environment = { CORE_TOKEN: TOKENS.game, CORE_ADDRESS: `127.0.0.1:${service.core.port}` };
  const program = startProgram(command, { cwd, environment });
  const follows = (times: number) =>
    until(`the program has followed ${times} times`, () => {
      return (program.output().match(/(?<!longer )following$/gm)?.length ?? 0) >= times;
    });
  await follows(1);

  const chat = openChat(service.url, await service.workspaces.make());
  for (const text of ["", "start", `other ${name}`, name]) await chat.command("ann", text);
  const thrown = await chat.sees("message.create", "card");
  expect(thrown.channel).toBe("c1");
  expect(thrown.message.text).toMatch(/^\\\*ann\\\* throws a \*\*[1-6]\*\*\.$/);
  expect(thrown.message.buttons).toEqual([[{ label: "Again", action: `${name}:again` }]]);

  const buttons = [[{ label: "Again", action: "other:again" }]];
  const othersMessage: Shown = { ...thrown, message: { ...thrown.message, buttons } };
  for (const each of [othersMessage, thrown]) await chat.press("bob", each, "Again");
  const again = await chat.sees("message.update", "card");
  expect([again.channel, again.message.id]).toEqual(["c1", thrown.message.id]);
  if (hasTwoForPress) await chat.sees("message.ephemeral", "card", { user: "bob" });

  await chat.command("ann", `${name.toUpperCase()} nonsense`);
  const help = await chat.sees("message.ephemeral", "help", { user: "ann" });
  expect(help.message.text).toBe(`Send the command with only \`${name}\`.`);
  expect(chat.shown).toHaveLength(hasTwoForPress ? 4 : 3);

  await service.core.stop("SIGKILL");
  const core = await startCore(service.redis.url, { CORE_LISTEN: `127.0.0.1:${service.core.port}` });
  service = { ...service, core };
  await follows(2);
  await until("the edge is ready", async () => {
    return (await fetch(`http://127.0.0.1:${service.edge.healthPort}/ready`)).ok;
  });
  await chat.command("ann", name);
  await chat.sees("message.create", "card");
  await program.stop();
}

test("the guide's TypeScript game compiles with the generated code", () => {
  const path = join(folder, "typescript");
  mkdirSync(path);
  for (const each of ["node_modules", "proto"]) symlinkSync(join(ROOT, each), join(path, each));
  save(path, "ts", "dice.ts");
  const project = { extends: join(ROOT, "tsconfig.json"), include: ["dice.ts"], exclude: [] };
  writeFileSync(join(path, "tsconfig.json"), JSON.stringify(project));
  const { status, stdout } = spawnSync(join(ROOT, "node_modules/.bin/tsc"), ["-p", path], {
    encoding: "utf8",
  });
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
});

/** Returns the path of a new folder that contains the guide's TypeScript game as `dice.js`. */
function folderWithDice(name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  symlinkSync(join(ROOT, "node_modules"), join(path, "node_modules"));
  const { code } = transformSync(docProgram(GUIDE, "ts", "dice.ts"), {
    module: { type: "commonjs" },
    jsc: { target: "es2022", parser: { syntax: "typescript" } },
  });
  writeFileSync(join(path, "dice.js"), code.replaceAll("./proto/", `${ROOT}/dist/proto/`));
  return path;
}

// contract: ack-only
test("the guide's TypeScript game answers its own commands and buttons, and continues after an outage of core", async () => {
  await playDice("dice", [process.execPath, "dice.js"], folderWithDice("javascript"));
});

/** A script that makes each pause of a program last until the pause's signal is aborted. */
const ENDLESS_PAUSES = `
const timers = require("node:timers/promises");
timers.setTimeout = (ms, value, { signal }) =>
  new Promise((resolve, reject) => {
    const pause = setInterval(() => undefined, 60_000);
    signal.addEventListener("abort", () => {
      clearInterval(pause);
      reject(signal.reason);
    });
    console.error("pauses");
  });
`;

// time: ordering
test("the guide's TypeScript game stops at SIGTERM during the pause before a new stream", async () => {
  const path = folderWithDice("stopped");
  writeFileSync(join(path, "endless-pauses.js"), ENDLESS_PAUSES);
  const environment = { CORE_TOKEN: TOKENS.game, CORE_ADDRESS: `127.0.0.1:${await freePort()}` };
  const command = [process.execPath, "--require", "./endless-pauses.js", "dice.js"] as const;
  const program = startProgram(command, { cwd: path, environment });
  await until("the game pauses", () => program.output().includes("pauses"));
  expect(await program.stop()).toBe(0);
});

test(
  "the guide's Go game, built in an empty folder as the guide says, answers its own commands and buttons, and survives an outage of core",
  async () => {
    const path = folderWithProtos("go");
    save(path, "yaml", "buf.gen.yaml");
    save(path, "go", "main.go");
    const env = goEnvironment(await findGo());
    runBlock("go build", path, env);
    expect(execFileSync("go", ["fmt", "."], { cwd: path, env, encoding: "utf8" })).toBe("");
    execFileSync("go", ["vet", "."], { cwd: path, env, stdio: "pipe" });
    await playDice("dice-go", [join(path, "dice")], path, true);
  },
  COMPILE_MS,
);

test(
  "the guide's Python game, installed in an empty folder as the guide says, answers its own commands and buttons, and survives an outage of core",
  async () => {
    const path = folderWithProtos("python");
    runBlock("python3 -m venv", path);
    save(path, "python", "dice.py");
    await playDice("dice-python", ["venv/bin/python3", "dice.py"], path);
  },
  COMPILE_MS,
);

const source = (path: string): string => readFileSync(join(ROOT, path), "utf8");

test.each<[string, string]>([
  ["the guide's TypeScript game", docProgram(GUIDE, "ts", "dice.ts")],
  ["the guide's Python game", docProgram(GUIDE, "python", "dice.py")],
  ["the game kit, which the demo game uses", source("kit/game/grpc-link.ts")],
  ["the command line", source("cli/core.ts")],
])("%s waits at most 5 seconds between two connection attempts", (_which, program) => {
  const [, mostMs = ""] = /"grpc\.max_reconnect_backoff_ms"[:,] ([\d_]+)/.exec(program) ?? [];
  expect(["1_000", "5_000"]).toContain(mostMs);
});

test("the guide's Go game waits at most 5 seconds between two connection attempts", () => {
  expect(docProgram(GUIDE, "go", "main.go")).toMatch(/WithConnectParams[^}]*MaxDelay: 5 \* time\.Second/);
});

test("each game in the guide has a distinct name, which is also its group", () => {
  const games = [
    docProgram(GUIDE, "ts", "dice.ts"),
    docProgram(GUIDE, "go", "main.go"),
    docProgram(GUIDE, "python", "dice.py"),
  ];
  const names = games.map((game) => /game = "([^"]+)"/i.exec(game)?.[1]);
  expect(names).toEqual(["dice", "dice-go", "dice-python"]);
  for (const game of games) expect(game).toMatch(/group[:=] ?game\b/i);
});

test("every .proto file names its package for Go, Java and C#", () => {
  const names = readdirSync(join(ROOT, "proto/chatbridge/v1"));
  expect(names.length).toBeGreaterThan(3);
  for (const name of names) {
    const proto = source(`proto/chatbridge/v1/${name}`);
    expect(proto).toContain('option go_package = "chatbridge/v1;chatbridgev1";');
    expect(proto).toContain('option java_package = "com.chatbridge.v1";');
    expect(proto).toContain('option csharp_namespace = "ChatBridge.V1";');
  }
});
