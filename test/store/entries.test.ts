import { StoreUnavailable } from "../../core/ports/store-faults";
import { connectRedis } from "../../core/store/redis/redis";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { startRedisNodes } from "../harness/redis-node";
import { until } from "../harness/wait";

const KEY = "stream";
const READ = ["XRANGE", KEY, "-", "+"] as const;

/** Adds entries with these values. */
async function add(
  redis: Awaited<ReturnType<typeof connectRedis>>,
  ...values: readonly string[]
): Promise<void> {
  for (const value of values) await redis.command(KEY, ["XADD", KEY, "*", "n", value, "by", "game"]);
}

async function valuesIn(redis: Awaited<ReturnType<typeof connectRedis>>): Promise<readonly string[]> {
  return (await redis.entries(KEY, READ)).values.map(String);
}

describe("with one Redis,", () => {
  let server: TestRedis;
  let redis: Awaited<ReturnType<typeof connectRedis>>;
  const errors: Error[] = [];
  beforeAll(async () => {
    server = await startTestRedis();
    redis = await connectRedis({ url: server.url, onError: (error) => errors.push(error) });
  });
  afterAll(async () => {
    await redis.close();
    await server.close();
  });
  beforeEach(() => redis.command(KEY, ["DEL", KEY]));

  test("each of several concurrent reads gets its own entries, even if their bytes span several chunks", async () => {
    await add(redis, "first", "x".repeat(300_000), "last");
    const reads = Array.from({ length: 20 }, (_, i) => redis.entries(KEY, [...READ, "COUNT", String(i + 1)]));
    const counts = (await Promise.all(reads)).map(({ values }) => values.map(({ length }) => length));
    expect(counts).toEqual(reads.map((_, i) => [5, 300_000, 4].slice(0, i + 1)));
  });

  test("an error reply rejects only its own read", async () => {
    await add(redis, "a");
    await redis.command("text", ["SET", "text", "a"]);
    const [wrong, right] = await Promise.allSettled([
      redis.entries("text", ["XRANGE", "text", "-", "+"]),
      valuesIn(redis),
    ]);
    expect(wrong).toMatchObject({ status: "rejected", reason: { message: /^WRONGTYPE/ } });
    expect(right).toMatchObject({ value: ["a"] });
  });

  test("after Redis closes all connections, reads are rejected or answered, and succeed again soon", async () => {
    await add(redis, "a");
    expect(await valuesIn(redis)).toEqual(["a"]);
    for (const type of ["normal", "pubsub"]) {
      await redis.command("", ["CLIENT", "KILL", "TYPE", type, "SKIPME", "no"]).catch(() => undefined);
    }
    await until("reads succeed", async () => {
      try {
        return (await valuesIn(redis)).length === 1;
      } catch (error) {
        expect(error).toBeInstanceOf(StoreUnavailable);
        return false;
      }
    });
  });

  // time: smoke
  test("reads are rejected if Redis hangs, and succeed when Redis continues", async () => {
    await add(redis, "a");
    expect(await valuesIn(redis)).toEqual(["a"]);
    process.kill(server.pid, "SIGSTOP");
    const late = [redis.entries(KEY, READ), redis.entries(KEY, READ)];
    expect(await Promise.allSettled(late)).toEqual(
      late.map(() => ({ status: "rejected", reason: expect.any(StoreUnavailable) })),
    );
    process.kill(server.pid, "SIGCONT");
    await until("reads succeed", async () => (await valuesIn(redis).catch(() => [])).length === 1);
  });
});

test("reads use the password and the database of REDIS_URL", async () => {
  const { url, close } = await startRedisNodes(async (start) => {
    const { port } = await start({ lines: [], password: "a:pass" });
    return { url: `redis://:a%3Apass@127.0.0.1:${port}` };
  });
  const [first, second] = await Promise.all(
    ["/0", "/3"].map((database) => connectRedis({ url: url + database, onError: () => undefined })),
  );
  if (first === undefined || second === undefined) throw new Error("there are no connections");
  await add(first, "zero");
  await add(second, "three");
  expect([await valuesIn(first), await valuesIn(second)]).toEqual([["zero"], ["three"]]);
  await Promise.all([first.close(), second.close()]);
  await close();
});
