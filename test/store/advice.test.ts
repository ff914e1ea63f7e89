import type { RedisAdvice } from "../../core/store/redis-advice";
import { startCore } from "../harness/processes";
import { startTestRedis } from "../harness/redis";
import { openTestStore } from "../harness/store";

const EVICTS = /^maxmemory-policy is allkeys-lru: .*noeviction/;

// That each master of a cluster is looked at, cluster.test.ts has.
test.each<[string, readonly string[], readonly [string, RegExp][]]>([
  ["nothing, when nothing is lost", [], []],
  ["that it evicts keys", ["--maxmemory-policy", "allkeys-lru"], [["warn", EVICTS]]],
  ["that it keeps no file", ["--appendonly", "no"], [["warn", /^appendonly is no: /]]],
  ["that it writes every second", ["--appendfsync", "everysec"], [["info", /^appendfsync is everysec: /]]],
  ["that it does not sync", ["--appendfsync", "no"], [["warn", /^appendfsync is no: /]]],
  ["that it could not look", ["--rename-command", "CONFIG", ""], [["info", /^cannot check the settings/]]],
])("of a Redis a starting core says %s", async (_what, settings, expected) => {
  const redis = await startTestRedis(settings);
  const heard: RedisAdvice[] = [];
  const store = await openTestStore(redis.url, { onAdvice: (advice) => heard.push(advice) });
  expect(heard.map(({ level, advice: text }) => [level, text])).toEqual(
    expected.map(([level, text]) => [level, expect.stringMatching(text)]),
  );
  await store.close();
  await redis.close();
});

test("a core warns in its log that Redis may lose data, and starts", async () => {
  const redis = await startTestRedis(["--maxmemory-policy", "volatile-lru"]);
  const core = await startCore(redis.url);
  const warnings = core.log.filter(
    ({ level, msg }) => level === 40 && String(msg).startsWith("Redis may lose data: "),
  );
  expect(warnings.map(({ server }) => server)).toEqual([redis.url.replace("unix://", "")]);
  await core.stop();
  await redis.close();
});
