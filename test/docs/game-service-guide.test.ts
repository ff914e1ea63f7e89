import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "@swc/core";
import { poll, post } from "../harness/bridge";
import { docBlocks, docProgram } from "../harness/doc-blocks";
import { testFolder } from "../harness/folder";
import { TOKENS } from "../harness/processes";
import { startProgram } from "../harness/program";
import type { TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const GUIDE = "docs/game-service-guide.md";
const ROOT = join(__dirname, "../..");

const service = sharedService();
const folder = testFolder();
beforeAll(() => {
  for (const each of ["node_modules", "proto"]) symlinkSync(join(ROOT, each), join(folder, each));
});

interface Shown {
  readonly message: { readonly id: string; readonly text: string; readonly buttons: readonly unknown[] };
}

/** Waits until at least `count` events are held, and returns the held events. */
const heldEvents = (workspace: TestWorkspace, count: number) =>
  until(`${count} events are held`, async () => {
    const { events } = (await poll(service.url, workspace)).json as { readonly events: readonly Shown[] };
    return events.length >= count && events;
  });

/** Runs one of the guide's dice games, and plays it with requests that a bridge would send. */
async function playDice(command: readonly [string, ...string[]]): Promise<void> {
  const environment = { CORE_TOKEN: TOKENS.game, CORE_ADDRESS: `127.0.0.1:${service.core.port}` };
  const program = startProgram(command, { cwd: folder, environment });
  await until("the program follows", () => program.output().includes("following"));

  const workspace = await service.workspaces.make();
  const send = async (event: object): Promise<void> => {
    const body = { channel: "c1", user: { id: "u1" }, ...event };
    expect((await post(service.url, workspace, body)).status).toBe(202);
  };
  await send({ type: "command", text: "start" });
  await send({ type: "command", text: "dice" });
  const [first] = await heldEvents(workspace, 1);
  expect(first).toMatchObject({ type: "message.create", channel: "c1" });
  expect(first?.message.text).toMatch(/^You throw a \*\*[1-6]\*\*\.$/);
  expect(first?.message.buttons).toEqual([[{ label: "Again", action: "dice:again" }]]);

  const messageId = first?.message.id ?? "";
  await send({ type: "action", messageId, action: "dice:again" });
  const events = await heldEvents(workspace, 2);
  expect(events).toHaveLength(2);
  expect(events[1]).toMatchObject({ type: "message.update", channel: "c1", message: { id: messageId } });
  await program.stop();
}

test("the guide's TypeScript game compiles with the generated code", () => {
  writeFileSync(join(folder, "dice.ts"), docProgram(GUIDE, "ts", "dice.ts"));
  const project = { extends: join(ROOT, "tsconfig.json"), include: ["dice.ts"], exclude: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(project));
  const tsc = join(ROOT, "node_modules/.bin/tsc");
  const { status, stdout } = spawnSync(tsc, ["-p", folder], { encoding: "utf8" });
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
});

// contract: ack-only
test("the guide's TypeScript game works: a command posts a message, and a pressed button updates the message", async () => {
  const { code } = transformSync(docProgram(GUIDE, "ts", "dice.ts"), {
    module: { type: "commonjs" },
    jsc: { target: "es2022", parser: { syntax: "typescript" } },
  });
  writeFileSync(join(folder, "dice.js"), code.replaceAll("./proto/", `${ROOT}/dist/proto/`));
  await playDice([process.execPath, "dice.js"]);
});

const source = (path: string): string => readFileSync(join(ROOT, path), "utf8");

test.each<[string, string]>([
  ["the guide's TypeScript game", docProgram(GUIDE, "ts", "dice.ts")],
  ["the guide's Python game", docProgram(GUIDE, "python", "dice.py")],
  ["the demo game", source("demo/game/grpc/core-client.ts")],
  ["the command line", source("cli/core.ts")],
])("%s waits at most 5 seconds between two connection attempts", (_which, program) => {
  const [, mostMs = ""] = /"grpc\.max_reconnect_backoff_ms"[:,] ([\d_]+)/.exec(program) ?? [];
  expect(["1_000", "5_000"]).toContain(mostMs);
});

test("the guide's gRPC channel in Go waits at most 5 seconds between two connection attempts", () => {
  expect(docBlocks(GUIDE, "go").join("")).toMatch(/WithConnectParams[^}]*MaxDelay: 5 \* time\.Second/);
});

test("each game in the guide follows with a separate group", () => {
  const games = [docProgram(GUIDE, "ts", "dice.ts"), docProgram(GUIDE, "python", "dice.py")];
  const groups = games.map((game) => /GROUP = "([^"]+)"/.exec(game)?.[1]);
  expect(groups).toEqual(["dice", "dice-python"]);
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

const python = (...args: readonly string[]) =>
  spawnSync("python3", args, { cwd: folder, encoding: "utf8", env: { PATH: process.env["PATH"] } });
const hasPython = python("--version").status === 0;
const hasGrpc = python("-c", "import grpc, grpc_tools").status === 0;

(hasPython ? test : test.skip)("the guide's Python game compiles (skipped without Python)", () => {
  writeFileSync(join(folder, "dice.py"), docProgram(GUIDE, "python", "dice.py"));
  const { status, stderr } = python("-m", "py_compile", "dice.py");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});

(hasGrpc ? test : test.skip)(
  "the guide's Python game works with stubs from the guide's command (skipped without grpcio)",
  async () => {
    const command = docBlocks(GUIDE, "sh").find((block) => block.includes("grpc_tools.protoc")) ?? "";
    const [, generate = ""] = command.split("\n");
    expect(generate).toMatch(/^python3 -m grpc_tools/);
    execFileSync("sh", ["-c", generate], { cwd: folder, stdio: "pipe" });
    writeFileSync(join(folder, "dice.py"), docProgram(GUIDE, "python", "dice.py"));
    await playDice(["python3", "dice.py"]);
  },
);
