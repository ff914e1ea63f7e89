import { readCoreConfig } from "../../core/config";
import { createCore } from "../../core/core";
import { connectRedis, type Redis } from "../../core/store/redis/redis";
import { asText } from "../../core/store/redis/reply";
import { probe, untilReadiness } from "../harness/probe";
import { SECRETS_KEY, startCore, TOKENS } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { runProgram } from "../harness/run-program";
import { until } from "../harness/wait";

const MARK = "16 format=2 since=1.0.0-beta.2";
const NEWER = "16 format=3 since=1.4.0";
const FATAL = { level: "fatal" };

let server: TestRedis;
let redis: Redis;
beforeEach(async () => {
  server = await startTestRedis(["--appendfsync", "no"]);
  redis = await connectRedis({ url: server.url, onError: () => undefined });
});
afterEach(async () => {
  await redis.close();
  await server.close();
});

const setMark = (mark: string) => redis.command("", ["SET", "cb:shards", mark]);
const readMark = async () => asText(await redis.command("", ["GET", "cb:shards"]));

test("a core marks a new store with its format, also when several cores start at the same time", async () => {
  const cores = await Promise.all([1, 2, 3].map(() => startCore(server.url)));
  expect(await readMark()).toBe(MARK);
  for (const core of cores) expect(await core.stop()).toBe(0);
});

test.each([
  ["of a newer release", NEWER, "format 3, of release 1.4.0 or newer"],
  ["that was not migrated", "16", "format 1, of release 1.0.0-beta.1"],
  ["that is being migrated", "16 format=1 migrating=2", "has not finished"],
])(
  "a core that is started with a store %s exits with code 78, prints one line, and does not change the store",
  async (_store, mark, line) => {
    await setMark(mark);
    const settings = {
      REDIS_URL: server.url,
      SECRETS_KEY,
      CORE_LISTEN: "127.0.0.1:0",
      HEALTH_LISTEN: "127.0.0.1:0",
    };
    const { code, stderr } = await runProgram("core", { ...settings, CORE_TOKENS: `edge=${TOKENS.edge}` });
    expect(code).toBe(78);
    expect(stderr.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^cannot start: .*docs\/upgrade\.md/),
    ]);
    expect(stderr).toContain(line);
    expect(await redis.command("", ["KEYS", "*"])).toHaveLength(1);
    expect(await redis.command("", ["FUNCTION", "LIST"])).toEqual([]);
    expect(await readMark()).toBe(mark);
  },
);

test("a core exits with code 78 when the format changes while it runs, e.g. because a backup was restored", async () => {
  const core = await startCore(server.url);
  const exited = new Promise((resolve) => core.child.once("exit", resolve));
  await setMark(NEWER);
  expect(await exited).toBe(78);
  const fatal = core.log.filter(({ level }) => level === FATAL.level);
  expect(fatal).toEqual([
    expect.objectContaining({
      msg: expect.stringContaining("stopping at once: this Redis has data in format 3") as string,
    }),
  ]);
  expect(await readMark()).toBe(NEWER);
});

test("when the format changes, /ready gives the reason at once", async () => {
  const settings = {
    REDIS_URL: server.url,
    SECRETS_KEY,
    CORE_LISTEN: "127.0.0.1:0",
    HEALTH_LISTEN: "127.0.0.1:0",
  };
  const core = await createCore(readCoreConfig(settings));
  await setMark(NEWER);
  const reason = expect.stringContaining("this Redis has data in format 3") as string;
  expect(await probe(core, "/ready")).toEqual([503, expect.objectContaining({ ready: false, reason })]);
  expect((await core.failed).message).toContain("format 3");
  await core.close();
});

test("a core continues when Redis restarts empty, and marks the store again", async () => {
  const core = await startCore(server.url);
  await server.restart({ empty: true });
  await untilReadiness(core, 200);
  expect(await until("the store is marked", async () => readMark().catch(() => undefined))).toBe(MARK);
  expect(await core.stop()).toBe(0);
});

test("a core stays ready on a full Redis, which rejects every SET", async () => {
  const core = await startCore(server.url);
  await redis.command("", ["CONFIG", "SET", "maxmemory", "1"]);
  await expect(setMark(MARK)).rejects.toThrow();
  await untilReadiness(core, 200);
  expect(await core.stop()).toBe(0);
});

test("the first core after a migration logs, before it is ready, how many events were not converted", async () => {
  await setMark(`${MARK} unserved=3`);
  const first = await startCore(server.url);
  expect(first.log.findIndex(({ unserved, level }) => unserved === 3 && level === "error")).toBeGreaterThan(
    -1,
  );
  expect(first.log.at(-1)?.["msg"]).toBe("core is ready");
  expect(await readMark()).toBe(MARK);
  await first.stop();
  const second = await startCore(server.url);
  expect(second.log.some((line) => "unserved" in line)).toBe(false);
  await second.stop();
});
