import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { send } from "../harness/bridge";
import { testFolder } from "../harness/folder";
import { freePort } from "../harness/processes";
import { startProgram, type Program } from "../harness/program";
import { redisServer } from "../harness/redis-server";
import { HOSTS, setUp, Unit } from "../harness/setup";
import { until } from "../harness/wait";

// Starts Redis, core and the edge with the command lines and the settings of the units that `chat-bridge setup` writes. Only the
// ports differ.

const root = testFolder();
const ports = { redis: 0, core: 0, coreHealth: 0, edge: 0, edgeHealth: 0, dashboard: 0 };
let core: Program;

const listen = (port: number): string => `127.0.0.1:${port}`;
const isReady = (port: number): Promise<boolean> =>
  send(`http://${listen(port)}`, "/ready").then(
    ({ status }) => status === 200,
    () => false,
  );

/** Starts the main process of a unit. */
function start(name: string, environment: Readonly<Record<string, string>> = {}): Program {
  const unit = new Unit(root, `chat-bridge-${name}.service`);
  return startProgram(unit.command, { cwd: root, environment: { ...unit.environment, ...environment } });
}

beforeAll(async () => {
  for (const name of Object.keys(ports) as (keyof typeof ports)[]) ports[name] = await freePort();
  const args = [...HOSTS, "--redis-port", String(ports.redis), "--games", "trivia", "--yes"];
  expect(setUp(root, args)).toMatchObject({ status: 0 });
  const conf = join(root, "etc/chat-bridge/redis.conf");
  const text = readFileSync(conf, "utf8").replaceAll(
    "/var/lib/chat-bridge-redis",
    join(root, "var/lib/chat-bridge-redis"),
  );
  writeFileSync(conf, text.replace("supervised systemd", "supervised no"));
  const redis = new Unit(root, "chat-bridge-redis.service");
  expect(redis.command[0]).toBe("/usr/bin/redis-server");
  startProgram([redisServer(), ...redis.command.slice(1)], { cwd: root, environment: {} });
  core = start("core", { CORE_LISTEN: listen(ports.core), HEALTH_LISTEN: listen(ports.coreHealth) });
  start("edge", {
    CORE_ADDRESS: listen(ports.core),
    EDGE_LISTEN: listen(ports.edge),
    HEALTH_LISTEN: listen(ports.edgeHealth),
    DASHBOARD_LISTEN: listen(ports.dashboard),
  });
  await until(`core is ready: ${core.output()}`, () => isReady(ports.coreHealth));
}, 120_000);

/** Runs the command line with the settings that `setup` wrote for it. */
function runCli(...args: readonly string[]) {
  const settings = readFileSync(join(root, "etc/chat-bridge/cli.env"), "utf8").replaceAll(
    "/etc/chat-bridge/",
    `${root}/etc/chat-bridge/`,
  );
  const file = join(root, "cli.env");
  writeFileSync(file, settings);
  const main = join(__dirname, "../../dist/cli/main.js");
  const env = {
    PATH: process.env["PATH"],
    CORE_ADDRESS: listen(ports.core),
    DASHBOARD_INSIDE: `http://${listen(ports.dashboard)}`,
  };
  return spawnSync(process.execPath, [`--env-file=${file}`, main, ...args], { encoding: "utf8", env });
}

test("core and the edge become ready", async () => {
  await until("the edge is ready", () => isReady(ports.edgeHealth));
});

test("core finds no fault in the settings of Redis, and core's Redis user has all required permissions", () => {
  expect(core.output()).toContain("core is ready");
  expect(core.output()).not.toMatch(/may lose data|NOPERM|permission|memory of Redis/i);
  expect(runCli("workspace", "create", "Ann's team", "--show-secret")).toMatchObject({
    status: 0,
    stderr: "",
  });
});

test("the user of core may not administer Redis, and nobody may use Redis without a password", () => {
  const [, password = ""] =
    /^REDIS_URL=redis:\/\/core:(.+)@/m.exec(readFileSync(join(root, "etc/chat-bridge/core.env"), "utf8")) ??
    [];
  const ask = (login: readonly string[], command: string): string =>
    execFileSync("redis-cli", ["-p", String(ports.redis), ...login, ...command.split(" ")], {
      encoding: "utf8",
      env: { PATH: process.env["PATH"], ...(login.length > 0 && { REDISCLI_AUTH: password }) },
    });
  for (const command of ["ACL LIST", "CONFIG SET maxmemory 0", "FLUSHALL", "GET other"]) {
    expect(ask(["--user", "core"], command)).toMatch(/^NOPERM/);
  }
  expect(ask([], "GET cb:shards")).toMatch(/^NOAUTH/);
});

test("the unit of the backup writes a backup with the password of the administrator", () => {
  const unit = new Unit(root, "chat-bridge-backup.service");
  const [program, ...args] = unit.command;
  const env = { PATH: process.env["PATH"], ...unit.environment };
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", env });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toContain("a backup was written");
  expect(readdirSync(join(root, "var/lib/chat-bridge/backups"))).toEqual([
    expect.stringMatching(/^redis-.*\.rdb$/),
  ]);
});

test("sign-in prints a link to the public address of the dashboard, and the link works once", async () => {
  await until("the edge is ready", () => isReady(ports.edgeHealth));
  const { status, stdout, stderr } = runCli("sign-in");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const [, code] = /^https:\/\/games\.example\.com\/#sign-in=(\S+)\n$/.exec(stdout) ?? [];
  const signIn = () =>
    send(`http://${listen(ports.dashboard)}`, "/api/session", {
      method: "POST",
      headers: { "x-dashboard": "1", "content-type": "application/json" },
      body: JSON.stringify({ code }),
    });
  expect(await signIn()).toMatchObject({ status: 200, json: { tokenName: "operator" } });
  expect((await signIn()).status).toBe(401);
});

test("sign-in says why it cannot get a link", () => {
  const main = join(__dirname, "../../dist/cli/main.js");
  const run = (environment: Readonly<Record<string, string>>) =>
    spawnSync(process.execPath, [main, "sign-in"], {
      encoding: "utf8",
      env: { PATH: process.env["PATH"], ...environment },
    });
  const inside = `http://${listen(ports.dashboard)}`;
  expect(run({ CORE_TOKEN: "0123456789abcdef", DASHBOARD_INSIDE: inside })).toMatchObject({
    status: 77,
    stderr: expect.stringContaining("rejects the request"),
  });
  expect(run({ CORE_TOKEN: "0123456789abcdef", DASHBOARD_INSIDE: "http://127.0.0.1:1" })).toMatchObject({
    status: 69,
    stderr: expect.stringContaining("check that the edge is running"),
  });
});
