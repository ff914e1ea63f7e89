import type { RedisAdvice } from "../../core/store/redis/advice";
import { startCore } from "../harness/processes";
import { startTestRedis } from "../harness/redis";
import { openTestStore } from "../harness/store";

const EVICTS = /^maxmemory-policy is allkeys-lru: .*noeviction/;

// cluster.test.ts tests that core checks each master of a cluster.
test.each<[string, readonly string[], readonly [string, RegExp][]]>([
  ["nothing if Redis's settings are safe", [], []],
  ["that Redis evicts keys", ["--maxmemory-policy", "allkeys-lru"], [["warn", EVICTS]]],
  ["that Redis has no append-only file", ["--appendonly", "no"], [["warn", /^appendonly is no: /]]],
  [
    "that Redis syncs to disk only every second",
    ["--appendfsync", "everysec"],
    [["info", /^appendfsync is everysec: /]],
  ],
  ["that Redis does not sync to disk", ["--appendfsync", "no"], [["warn", /^appendfsync is no: /]]],
  ["a failed check", ["--rename-command", "CONFIG", ""], [["info", /^cannot check the settings/]]],
])("at startup core reports %s", async (_what, settings, expected) => {
  const redis = await startTestRedis(settings);
  const heard: RedisAdvice[] = [];
  const store = await openTestStore(redis.url, { onAdvice: (advice) => heard.push(advice) });
  expect(heard.map(({ level, advice: text }) => [level, text])).toEqual(
    expected.map(([level, text]) => [level, expect.stringMatching(text)]),
  );
  await store.close();
  await redis.close();
});

test("if data may be lost because of Redis's settings, core starts and logs a warning", async () => {
  const redis = await startTestRedis(["--maxmemory-policy", "volatile-lru"]);
  const core = await startCore(redis.url);
  const warnings = core.log.filter(
    ({ level, msg }) => level === "warn" && String(msg).startsWith("Redis may lose data: "),
  );
  expect(warnings.map(({ server }) => server)).toEqual([redis.url.replace("unix://", "")]);
  await core.stop();
  await redis.close();
});
