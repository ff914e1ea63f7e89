import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { joinChat } from "../harness/chat-member";
import { readComposeFile, ROOT } from "../harness/compose-file";
import { dashboardUrlOf } from "../harness/dashboard";
import { testFolder } from "../harness/folder";
import { freePort, startProcess, type TestProcess } from "../harness/processes";
import { startSilentServer } from "../harness/silent-server";
import { redisServer } from "../harness/redis-server";
import { until } from "../harness/wait";

// Runs the programs of docker-compose.yml without containers, on free ports. Except for paths and addresses, the
// settings and the secret files are the same as in the containers.

const { services } = readComposeFile();
const SECRETS = ["kept", "redis", "core", "edge", "game", "chat", "operator", "cli", "grafana"];

let redis: ChildProcess;
const ports: Record<string, number> = {};
const started: TestProcess[] = [];

beforeAll(async () => {
  for (const name of SECRETS) mkdirSync(join(folder, name));
  mkdirSync(join(folder, "data"));
  runOnce("secrets");
  ports["redis"] = await freePort();
  const [, conf = ""] = services["redis"]?.command ?? [];
  const more = ["--dir", join(folder, "data"), "--port", String(ports["redis"]), "--bind", "127.0.0.1"];
  redis = spawn(redisServer(), [local(conf), ...more], { stdio: ["ignore", "pipe", "ignore"] });
  let printed = "";
  redis.stdout?.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  await until("Redis is ready", () => /ready to accept connections/i.test(printed));
});
afterAll(async () => {
  for (const each of started.toReversed()) await each.stop();
  redis.kill("SIGKILL");
});
const folder = testFolder();

/** Returns a container's setting, with the paths and addresses replaced by those of this machine. */
function local(text: string): string {
  return (
    text
      .replaceAll("/secrets", folder)
      .replaceAll("dns:///", "")
      .replaceAll("/app/", "")
      .replace(/^0\.0\.0\.0:\d+$|^127\.0\.0\.1:8080$/, "127.0.0.1:0")
      // Without containers, there is no proxy between the chat and the edge.
      .replaceAll("proxy:8088", "edge:8080")
      .replaceAll(
        /\b(redis|core|edge|dashboard):\d+/g,
        (_all, name: string) => `127.0.0.1:${ports[name] ?? 9}`,
      )
  );
}

function environmentOf(name: string): Record<string, string> {
  const { command = [], environment = {} } = services[name] ?? {};
  const file = command.map((argument) => /^--env-file=(.*)/.exec(argument)?.[1]).find(Boolean);
  const secrets = file === undefined ? {} : parseEnv(readFileSync(local(file), "utf8"));
  const all = Object.entries({ ...secrets, ...environment }) as [string, string][];
  const ours = { SECRETS_DIR: folder, DASHBOARD_INSIDE: `http://127.0.0.1:${ports["dashboard"] ?? 9}` };
  const locals = Object.fromEntries(all.map(([key, value]) => [key, local(value)]));
  // No proxy sends requests, so the test need not wait for the drain.
  return { ...ours, ...locals, DRAIN_SECONDS: "0" };
}

/** Runs the program of a container until the program exits, and returns the output. */
function runOnce(name: string, ...more: readonly string[]): string {
  const { command = [], entrypoint = [] } = services[name] ?? {};
  const args = [...entrypoint.slice(1).map(local), ...command, ...more];
  const env = { PATH: process.env["PATH"], ...environmentOf(name) };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, env, encoding: "utf8" });
  expect({ name, status, stderr }).toEqual({ name, status: 0, stderr: "" });
  return stdout;
}

async function start(name: string, program: Parameters<typeof startProcess>[0]): Promise<TestProcess> {
  expect(services[name]?.command?.at(-1)).toBe(`dist/${program}/main.js`);
  const child = await startProcess(program, environmentOf(name));
  started.push(child);
  ports[name] = child.port;
  return child;
}

test("each container finds its secrets, the demo's bridge works with the game, and operators can sign in", async () => {
  await start("core", "core");
  await start("edge", "edge");
  const dashboard = await start("dashboard", "edge");
  runOnce("demo-workspace");
  await start("game", "demo/game");
  const chat = await start("chat", "demo/chat");

  const ada = await joinChat(`http://127.0.0.1:${chat.port}`, "Ada");
  await ada.say("/play");
  expect((await ada.sees("start")).message.kind).toBe("help");
  ada.leave();

  ports["dashboard"] = Number(new URL(dashboardUrlOf(dashboard)).port);
  expect(runOnce("operator", "sign-in")).toMatch(/^http:\/\/\S+\/\S+\n$/);
  expect(runOnce("cli", "workspace", "list", "--json")).toContain('"Demo"');
});

test("the health check succeeds if the process is ready, and fails if the answer is 503, no answer arrives, or the port is closed", async () => {
  const [, program = "", ...args] = services["edge"]?.healthcheck?.test ?? [];
  const check = (port: number): Promise<boolean> => {
    const child = spawn(
      program,
      args.map((each) => each.replace("8081", String(port))),
      { stdio: "ignore" },
    );
    return once(child, "exit").then(([code]) => code === 0);
  };
  const answering = async (answer: string): Promise<boolean> => {
    const server = await startSilentServer(answer);
    const succeeded = await check(server.port);
    server.close();
    return succeeded;
  };
  expect(await check(started[1]?.healthPort ?? 0)).toBe(true);
  expect(await answering("HTTP/1.1 200 OK\r\n\r\n")).toBe(true);
  expect(await answering("HTTP/1.1 503 Service Unavailable\r\n\r\n")).toBe(false);
  expect(await answering("")).toBe(false);
  expect(await check(await freePort())).toBe(false);
});

test("a later start keeps the keys, tokens, passwords and workspace; all secret files except those of Redis and Grafana have mode 600", () => {
  const read = () => SECRETS.flatMap((name) => filesOf(name).map((file) => readFileSync(file, "utf8")));
  const before = read();
  runOnce("secrets");
  runOnce("demo-workspace");
  expect(read()).toEqual(before);
  for (const file of SECRETS.filter((name) => name !== "redis" && name !== "grafana").flatMap(filesOf)) {
    expect({ file, mode: (statSync(file).mode & 0o777).toString(8) }).toEqual({ file, mode: "600" });
  }
});

test("operators can read the random password of Grafana's user admin", () => {
  const password = readFileSync(join(folder, "grafana/password"), "utf8");
  expect(password).toMatch(/^[0-9a-f]{48}$/);
  expect(runOnce("operator", "grafana-password")).toBe(`${password}\n`);
});

test("add-key puts a new key first, and keeps the previous key", () => {
  const keys = () =>
    parseEnv(readFileSync(join(folder, "core/core.env"), "utf8"))["SECRETS_KEY"]?.split(",") ?? [];
  const [before] = keys();
  runOnce("operator", "add-key");
  expect(keys()).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), before]);
});

function filesOf(name: string): readonly string[] {
  return readdirSync(join(folder, name)).map((file) => join(folder, name, file));
}
