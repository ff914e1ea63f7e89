import { mkdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { connectRedis, type Redis } from "../../core/store/redis/redis";
import { readMetrics } from "../harness/metrics";
import { startService, type TestService } from "../harness/service";
import { until } from "../harness/wait";

let service: TestService;
let redis: Redis;
beforeAll(async () => {
  service = await startService();
  redis = await connectRedis({ url: service.redis.url, onError: () => undefined });
});
afterAll(async () => {
  await redis.close();
  await service.close();
});
const command = (...args: readonly string[]) => redis.command("", args);

/** Returns the values of one of core's metrics, by their labels. The label `server` is left out. */
async function valuesOf(name: string): Promise<Readonly<Record<string, number>>> {
  const { values } = (await readMetrics(service.core)).get(`chatbridge_core_${name}`) ?? {};
  return Object.fromEntries(
    [...(values ?? [])].map(([labels, value]) => [labels.replace(/server="[^"]*",?/, ""), value]),
  );
}

/** Waits until a metric has these values. */
function untilIs(name: string, values: Readonly<Record<string, number>>): Promise<unknown> {
  return until(`${name} is ${JSON.stringify(values)}`, async () => {
    const found = await valuesOf(name);
    return Object.entries(values).every(([labels, value]) => found[labels] === value);
  });
}

// time: ordering
test("the metrics show the times in Redis of the last complete and the last failed backup, and 0 if there is none", async () => {
  await untilIs("backup_timestamp_seconds", { "": 0 });
  await untilIs("backup_failed_timestamp_seconds", { "": 0 });
  await command("MSET", "cb:backup", "1700000000", "cb:backupfailed", "1700000060");
  await untilIs("backup_timestamp_seconds", { "": 1_700_000_000 });
  await untilIs("backup_failed_timestamp_seconds", { "": 1_700_000_060 });
  await command("SET", "cb:backup", "1700000120");
  await untilIs("backup_timestamp_seconds", { "": 1_700_000_120 });
  await untilIs("backup_failed_timestamp_seconds", { "": 0 });
});

// time: ordering
test("after a failed snapshot of Redis, the metric for persistence is 0 for the step `snapshot` until a snapshot succeeds", async () => {
  await untilIs("redis_persistence_ok", { 'step="append"': 1, 'step="rewrite"': 1, 'step="snapshot"': 1 });
  const blocked = join(service.redis.folder, "dump.rdb");
  rmSync(blocked, { force: true });
  mkdirSync(blocked);
  await command("BGSAVE");
  await untilIs("redis_persistence_ok", { 'step="append"': 1, 'step="rewrite"': 1, 'step="snapshot"': 0 });
  rmdirSync(blocked);
  await command("BGSAVE");
  await untilIs("redis_persistence_ok", { 'step="snapshot"': 1 });
});

// time: ordering
test("the metric for the size of the append-only file has no value while Redis writes no such file", async () => {
  await until(
    "core reports the size",
    async () => ((await valuesOf("redis_append_only_bytes"))[""] ?? 0) > 0,
  );
  await command("CONFIG", "SET", "appendonly", "no");
  await until(
    "the size is missing",
    async () => (await valuesOf("redis_append_only_bytes"))[""] === undefined,
  );
  await command("CONFIG", "SET", "appendonly", "yes");
});

// time: ordering
test("the metric for workspaces counts them by state", async () => {
  const before = await valuesOf("workspaces");
  for (let i = 0; i < 3; i++) await service.workspaces.make();
  const gone = await service.workspaces.make();
  await service.workspaces.disconnect(gone.id);
  const more = (state: string, by: number) => ({
    [`state="${state}"`]: (before[`state="${state}"`] ?? 0) + by,
  });
  await untilIs("workspaces", { ...more("unused", 3), ...more("disconnected", 1), ...more("failing", 0) });
});

test("if core's Redis user may not call INFO, the metric for persistence has no value", async () => {
  await command("ACL", "SETUSER", "default", "-info");
  await until("no value", async () => Object.keys(await valuesOf("redis_persistence_ok")).length === 0);
  await command("ACL", "SETUSER", "default", "+info");
  await untilIs("redis_persistence_ok", { 'step="append"': 1 });
});
