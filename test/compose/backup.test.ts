import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeSecrets } from "../../deploy/compose/secrets";
import { findShellcheck } from "../programs/apt";
import { poll, post } from "../harness/bridge";
import { ROOT } from "../harness/compose-file";
import { connectToCore } from "../harness/core-clients";
import { testFolder } from "../harness/folder";
import { freePort, startCore, startEdge } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { publish, textEvent, type TestWorkspace } from "../harness/service";
import { until } from "../harness/wait";
import { createWorkspaceApi } from "../harness/workspace-api";

// Runs the script of the containers `backup`, `backup-secrets`, `restore` and `restore-secrets`, but without
// containers.

const SCRIPT = join(ROOT, "deploy/backup/backup.sh");
const folder = testFolder();
const kept = join(folder, "secrets/kept");
let redis: TestRedis;
let address: string;
let folders = 0;
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const port = String(await freePort());
  redis = await startTestRedis(["--port", port, "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"]);
  address = `127.0.0.1:${port}`;
  for (const name of ["kept", "redis", "core", "edge", "game", "operator", "grafana"]) {
    mkdirSync(join(folder, "secrets", name), { recursive: true });
  }
  writeSecrets(join(folder, "secrets"));
});
afterAll(async () => {
  for (const close of closers) await close();
  await redis.close();
});

type Environment = Readonly<Record<string, string>> & { readonly BACKUPS: string };

/** Returns the environment of a backup container that writes to a new, empty folder. */
function newEnvironment(more: Readonly<Record<string, string>> = {}): Environment {
  const BACKUPS = join(folder, `backups-${folders++}`);
  mkdirSync(BACKUPS);
  const PATH = process.env["PATH"] ?? "";
  return { PATH, BACKUPS, REDIS_ADDRESS: address, REDIS_DATA: redis.folder, KEPT_SECRETS: kept, ...more };
}
function run(env: Environment, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync("sh", [SCRIPT, ...args], { env, encoding: "utf8" });
  return { status, output: stdout + stderr };
}

/** Runs a command that must succeed, and returns the output. */
function must(env: Environment, ...args: readonly string[]): string {
  const { status, output } = run(env, ...args);
  expect({ status, output }).toEqual({ status: 0, output });
  return output;
}

interface Page {
  readonly events: readonly { readonly message: { readonly text: string } }[];
  readonly next: string;
}

/** Starts core and an edge that use the test's Redis. */
async function startProcesses() {
  const { secretsKey } = JSON.parse(readFileSync(join(kept, "settings.json"), "utf8")) as {
    secretsKey: string;
  };
  const core = await startCore(redis.url, { SECRETS_KEY: secretsKey });
  const edge = await startEdge(core.port);
  const clients = connectToCore(core.port);
  const url = `http://127.0.0.1:${edge.port}`;
  const close = async () => {
    clients.close();
    await edge.stop();
    await core.stop();
  };
  closers.push(close);
  return {
    url,
    clients,
    close,
    workspaces: createWorkspaceApi(clients.workspaces),
    async page(workspace: TestWorkspace, query = "") {
      const { status, json } = await poll(url, workspace, query);
      expect(status).toBe(200);
      return json as Page;
    },
  };
}
const texts = ({ events }: Page) => events.map(({ message }) => message.text);

test("after a restore, workspaces, secrets and held events are those of the backup, and cursors that point to lost events still work", async () => {
  const env = newEnvironment();
  const before = await startProcesses();
  const workspace = await before.workspaces.make({ name: "Kept" });
  await publish(before.clients, ...["one", "two"].map((text) => textEvent(workspace.id, text)));
  expect(must(env, "redis", "now")).toContain('"msg":"a backup was written"');
  await publish(before.clients, textEvent(workspace.id, "lost"));
  const { next: cursor } = await before.page(workspace);
  await before.workspaces.make({ name: "Lost" });
  await before.close();

  await redis.kill();
  rmSync(join(redis.folder, "appendonlydir"), { recursive: true });
  rmSync(join(redis.folder, "dump.rdb"), { force: true });
  must(env, "redis", "restore", "latest");
  await redis.restart();

  const after = await startProcesses();
  const { workspaces } = await after.workspaces.list();
  expect(workspaces.map(({ name }) => name)).toEqual(["Kept"]);
  expect(texts(await after.page(workspace))).toEqual(["one", "two"]);
  expect(texts(await after.page(workspace, `after=${cursor}`))).toEqual([]);
  await publish(after.clients, textEvent(workspace.id, "new"));
  expect(texts(await after.page(workspace, `after=${cursor}`))).toEqual(["new"]);
  const said = { type: "message", channel: "c1", user: { id: "u1", name: "Ada" }, text: "hi" };
  expect((await post(after.url, workspace, said)).status).toBe(202);
  await after.close();
});

test("`restore` changes nothing while Redis runs, and deletes existing data only with --overwrite", async () => {
  const env = newEnvironment();
  must(env, "redis", "now");
  const again = ["redis", "restore", "latest"];
  expect(run(env, ...again, "--overwrite")).toMatchObject({
    status: 1,
    output: expect.stringContaining("Redis is running") as string,
  });
  await redis.kill();
  const files = () => readdirSync(join(redis.folder, "appendonlydir"));
  const existing = files();
  const refused = run(env, ...again);
  expect(refused).toMatchObject({
    status: 1,
    output: expect.stringContaining("add --overwrite") as string,
  });
  expect(files()).toEqual(existing);
  must(env, ...again, "--overwrite");
  expect(files()).toHaveLength(2);
  await redis.restart();
  must(env, "redis", "now");
});

test("a damaged backup is not restored, and the existing data is kept", async () => {
  const env = newEnvironment();
  must(env, "redis", "now");
  const [name = ""] = must(env, "redis", "list").split(" ");
  const whole = readFileSync(join(env.BACKUPS, name));
  writeFileSync(join(env.BACKUPS, name), whole.subarray(0, whole.length - 9));
  await redis.kill();
  const { status, output } = run(env, "redis", "restore", name, "--overwrite");
  expect({ status, output }).toEqual({ status: 1, output: expect.stringContaining("is damaged") as string });
  await redis.restart();
  must(env, "redis", "now");
});

test("if Redis does not answer, the backup fails with the reason, and leaves no file", async () => {
  const env = newEnvironment({ REDIS_ADDRESS: `127.0.0.1:${await freePort()}` });
  const { status, output } = run(env, "redis", "now");
  expect(status).toBe(1);
  expect(JSON.parse(output)).toMatchObject({
    level: "error",
    msg: "a backup could not be written",
    reason: expect.stringContaining("Connection refused") as string,
  });
  expect(readdirSync(env.BACKUPS)).toEqual([]);
});

test("the password of Redis is read from a file, and no password is printed", async () => {
  const port = String(await freePort());
  const settings = ["--port", port, "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"];
  const locked = await startTestRedis(settings);
  try {
    const cli = ["-p", port, "CONFIG", "SET", "requirepass", "correct"];
    expect(spawnSync("redis-cli", cli).status).toBe(0);
    const file = join(folder, "password");
    const env = newEnvironment({ REDIS_ADDRESS: `127.0.0.1:${port}`, REDIS_AUTH_FILE: file });
    writeFileSync(file, "not-correct");
    const { status, output } = run(env, "redis", "now");
    expect(status).toBe(1);
    expect(output).not.toContain("not-correct");
    writeFileSync(file, "correct");
    must(env, "redis", "now");
  } finally {
    await locked.close();
  }
});

// time: ordering
test("the schedule writes backups until SIGTERM, keeps the newest, and does not repeat a backup after a restart", async () => {
  const env = newEnvironment({ BACKUP_EVERY: "1s", BACKUP_KEEP: "2" });
  const start = (settings: Environment) => {
    const child = spawn("sh", [SCRIPT, "redis", "schedule"], {
      env: settings,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let printed = "";
    child.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
    const stop = async () => {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      return (await exited)[0] as unknown;
    };
    closers.push(async () => child.kill("SIGKILL"));
    return { stop, count: (words: string) => printed.split(words).length - 1, printed: () => printed };
  };
  const first = start(env);
  await until("an old backup is removed", () => first.count('"an old backup was removed"') >= 1);
  expect(await first.stop()).toBe(0);
  expect(readdirSync(env.BACKUPS)).toHaveLength(2);

  const next = start({ ...env, BACKUP_EVERY: "1h" });
  await until("backups are scheduled", () => next.count('"backups are scheduled"') === 1);
  expect(await next.stop()).toBe(0);
  expect(next.count('"a backup was written"')).toBe(0);
});

test("the health check fails if there is no backup, or if the newest backup is older than two intervals", () => {
  const env = newEnvironment({ BACKUP_EVERY: "1h" });
  expect(run(env, "redis", "healthcheck").status).toBe(1);
  must(env, "redis", "now");
  must(env, "redis", "healthcheck");
  const old = Date.now() / 1_000 - 2 * 3_600 - 60;
  for (const name of readdirSync(env.BACKUPS)) utimesSync(join(env.BACKUPS, name), old, old);
  expect(run(env, "redis", "healthcheck").status).toBe(1);
});

test("backed-up secrets are restored with mode 600, and other secrets are deleted only with --overwrite", () => {
  const env = newEnvironment();
  const settings = join(kept, "settings.json");
  const before = readFileSync(settings, "utf8");
  must(env, "secrets", "now");
  rmSync(settings);
  must(env, "secrets", "restore", "latest");
  expect(readFileSync(settings, "utf8")).toBe(before);

  rmSync(settings);
  writeSecrets(join(folder, "secrets"));
  expect(run(env, "secrets", "restore", "latest").output).toContain("add --overwrite");
  expect(readFileSync(settings, "utf8")).not.toBe(before);
  must(env, "secrets", "restore", "latest", "--overwrite");
  expect(readFileSync(settings, "utf8")).toBe(before);
  expect(spawnSync("stat", ["-c", "%a", settings], { encoding: "utf8" }).stdout).toBe("600\n");
});

test.each([
  [64, []],
  [64, ["redis", "delete"]],
  [64, ["redis", "restore"]],
  [64, ["redis", "restore", "latest", "--force"]],
  [1, ["redis", "restore", "none.rdb"]],
  [0, ["--help"]],
])("the exit code is %d for the arguments %j", (code, args) => {
  expect(run(newEnvironment(), ...args).status).toBe(code);
});

test.each([{ BACKUP_EVERY: "6 hours" }, { BACKUP_EVERY: "0h" }, { BACKUP_KEEP: "0" }, { BACKUP_KEEP: "x" }])(
  "the setting %j is rejected before anything is written",
  (setting) => {
    const env = newEnvironment(setting);
    expect(run(env, "redis", "schedule").status).toBe(78);
    expect(existsSync(env.BACKUPS) && readdirSync(env.BACKUPS)).toEqual([]);
  },
);

test("shellcheck finds no fault in the script", async () => {
  const { status, stdout } = spawnSync(await findShellcheck(), [SCRIPT], { encoding: "utf8" });
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
});
