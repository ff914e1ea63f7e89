import { isDeepStrictEqual } from "node:util";
import { CONTRACT_LIMITS } from "../../core/domain/contract";
import { createSecretBox } from "../../core/store/secret-box";
import { openStore } from "../../core/store/store";
import type { RedisAdvice } from "../../core/store/redis-advice";
import { SECRETS_KEY, startCore } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { startTestCluster } from "../harness/redis-cluster";
import { until } from "../harness/wait";

let redis: TestRedis;
afterEach(() => redis.close());

/** What a store says when it is opened, by level. */
async function adviceOf(redisUrl: string): Promise<readonly RedisAdvice[]> {
  const heard: RedisAdvice[] = [];
  const store = await openStore({
    redisUrl,
    shards: 16,
    inboundLogMax: 1_000,
    limits: CONTRACT_LIMITS,
    secretBox: createSecretBox([Buffer.from(SECRETS_KEY, "hex")]),
    onError: () => undefined,
    onAdvice: (advice) => heard.push(advice),
  });
  await store.close();
  return heard;
}

test.each<[string, readonly string[], readonly [string, RegExp][]]>([
  ["nothing, when nothing is lost", [], []],
  [
    "what evicts",
    ["--maxmemory-policy", "allkeys-lru"],
    [["warn", /^maxmemory-policy is allkeys-lru: .*noeviction/]],
  ],
  ["what keeps no file", ["--appendonly", "no"], [["warn", /^appendonly is no: /]]],
  ["what writes every second", ["--appendfsync", "everysec"], [["info", /^appendfsync is everysec: /]]],
  ["what writes at some time", ["--appendfsync", "no"], [["warn", /^appendfsync is no: /]]],
  ["that it could not look", ["--rename-command", "CONFIG", ""], [["info", /^could not be checked/]]],
])("at its start core tells %s", async (_what, settings, expected) => {
  redis = await startTestRedis(settings);
  const advice = await adviceOf(redis.url);
  expect(advice.map(({ level, advice: text }) => [level, text])).toEqual(
    expected.map(([level, text]) => [level, expect.stringMatching(text)]),
  );
});

test("a core says it in its log, loudly, and starts all the same", async () => {
  redis = await startTestRedis(["--maxmemory-policy", "volatile-lru"]);
  const core = await startCore(redis.url);
  const said = core.log.filter(
    ({ level, msg }) => level === 40 && String(msg).startsWith("Redis may lose data: "),
  );
  expect(said.map(({ server }) => server)).toEqual([redis.url.replace("unix://", "")]);
  await core.stop();
});

test("of a cluster every master is looked at", async () => {
  redis = await startTestRedis();
  const cluster = await startTestCluster({ settings: ["--maxmemory-policy", "allkeys-random"] });
  try {
    // Whichever these are: a server that was slow for a while may have lost its place to its replica.
    const masters = async (): Promise<readonly string[]> => {
      const roles = await Promise.all(cluster.nodes.map((node) => node.info("role")));
      return cluster.nodes.flatMap(({ name }, i) => (roles[i] === "master" ? [name] : [])).toSorted();
    };
    const { servers, named } = await until("the masters are the same before and after", async () => {
      const before = await masters();
      const servers = (await adviceOf(cluster.url)).map(({ server }) => server);
      const named = await masters();
      return named.length === 3 && isDeepStrictEqual(before, named) && { servers, named };
    });
    expect(servers.toSorted()).toEqual(named);
  } finally {
    await cluster.close();
  }
}, 120_000);
