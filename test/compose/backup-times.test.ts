import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../harness/compose-file";
import { testFolder } from "../harness/folder";
import { freePort } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { startTestCluster, type TestCluster } from "../harness/redis-cluster";
import { openTestStore, type TestStore } from "../harness/store";

// backup.sh stores the times of backups in Redis, and core's store reads these times.

const SCRIPT = join(ROOT, "deploy/backup/backup.sh");
const folder = testFolder();
const BACKUPS = join(folder, "backups");
mkdirSync(BACKUPS);

/** Runs `backup.sh redis now` for the server at `port`. */
async function backUp(port: number | string, environment: Readonly<Record<string, string>> = {}) {
  const env = {
    PATH: process.env["PATH"] ?? "",
    BACKUPS,
    REDIS_ADDRESS: `127.0.0.1:${port}`,
    ...environment,
  };
  const child = spawn("sh", [SCRIPT, "redis", "now"], { env, stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  }
  const [status] = (await once(child, "close")) as [number];
  return { status, printed };
}
const NO_FOLDER = { BACKUPS: join(folder, "missing") };

/** Returns a `PATH` whose `date` command shows the time `ago`, e.g. "2 hours ago". */
function clockOf(ago: string): Readonly<Record<string, string>> {
  const bin = join(folder, ago.replaceAll(" ", "-"));
  mkdirSync(bin);
  writeFileSync(join(bin, "date"), `#!/bin/sh\nexec /bin/date -d "${ago}" "$@"\n`);
  chmodSync(join(bin, "date"), 0o755);
  return { PATH: `${bin}:${process.env["PATH"]}` };
}

const seconds = (): number => Math.floor(Date.now() / 1_000);

describe("on a single server,", () => {
  let port: string;
  let redis: TestRedis;
  let store: TestStore;
  beforeAll(async () => {
    port = String(await freePort());
    redis = await startTestRedis(["--port", port, "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"]);
    store = await openTestStore(redis.url);
  });
  afterAll(async () => {
    await store.close();
    await redis.close();
  });
  const times = () => store.durability.readBackups();

  test("the store returns the times of the last complete backup and of a later failed backup; 0 means that there is none", async () => {
    expect(await times()).toEqual({ completeAt: 0, failedAt: 0 });
    const before = seconds();
    expect(await backUp(port)).toMatchObject({ status: 0 });
    const { completeAt, failedAt } = await times();
    expect([completeAt >= before && completeAt <= seconds(), failedAt]).toEqual([true, 0]);

    const later = seconds();
    expect((await backUp(port, NO_FOLDER)).status).toBe(1);
    const after = await times();
    expect(after.completeAt).toBe(completeAt);
    expect(after.failedAt >= later && after.failedAt <= seconds()).toBe(true);

    await store.redis.command("", ["SET", "cb:backupfailed", String(later - 3_600)]);
    expect(await backUp(port)).toMatchObject({ status: 0 });
    expect((await times()).failedAt).toBe(0);
  });

  test("if the user of Redis may not store the time, the backup is complete, and the script logs a warning", async () => {
    const before = await times();
    await store.redis.command("", ["ACL", "SETUSER", "default", "-set"]);
    const { status, printed } = await backUp(port);
    await store.redis.command("", ["ACL", "SETUSER", "default", "+set"]);
    const lines = printed
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { level: string; msg: string });
    expect({ status, lines: lines.map(({ level, msg }) => `${level}: ${msg}`) }).toEqual({
      status: 0,
      lines: [
        "info: a backup was written",
        "warn: the time of a backup could not be stored, so metrics do not show it",
      ],
    });
    expect(await times()).toEqual(before);
  });

  test("if the stored time is not a number, the store reports that there was no backup", async () => {
    await store.redis.command("", ["SET", "cb:backup", "yesterday"]);
    expect((await times()).completeAt).toBe(0);
  });

  test("a backup of the secrets stores no time", async () => {
    await store.redis.command("", ["DEL", "cb:backup", "cb:backupfailed"]);
    const env = { ...process.env, BACKUPS, KEPT_SECRETS: join(folder, "missing") };
    const [status] = await once(spawn("sh", [SCRIPT, "secrets", "now"], { env, stdio: "ignore" }), "close");
    expect([status, await times()]).toEqual([1, { completeAt: 0, failedAt: 0 }]);
  });
});

describe("on a cluster,", () => {
  let cluster: TestCluster;
  let store: TestStore;
  beforeAll(async () => {
    cluster = await startTestCluster({ settings: ["appendfsync no", "repl-diskless-sync-delay 0"] });
    store = await openTestStore(cluster.url);
    await cluster.untilWhole();
    // In a real service, core makes this call when it watches a shard.
    for (const prefix of store.keys.prefixes) await store.functions.call("check_states", prefix, ["10"]);
  });
  afterAll(async () => {
    await store.close();
    await cluster.close();
  });

  test("a cluster's backup is complete when all masters are backed up, and its time is that of the oldest backup", async () => {
    const owners = await Promise.all(store.keys.prefixes.map((prefix) => cluster.masterOf(prefix)));
    const ports = [...new Set(owners.map(({ port }) => port))];
    expect(ports).toHaveLength(3);
    const times = () => store.durability.readBackups();
    for (const port of ports) {
      expect(await times()).toEqual({ completeAt: 0, failedAt: 0 });
      const { status, printed } = await backUp(port, port === ports[1] ? clockOf("2 hours ago") : {});
      expect({ status, isWarned: printed.includes('"warn"') }).toEqual({ status: 0, isWarned: false });
    }
    const { completeAt } = await times();
    expect(Math.round((seconds() - completeAt) / 60)).toBe(120);

    expect((await backUp(ports[0] ?? 0, NO_FOLDER)).status).toBe(1);
    expect(seconds() - (await times()).failedAt).toBeLessThan(3_600);
  });
});
