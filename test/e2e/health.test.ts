import { spawn } from "node:child_process";
import { join } from "node:path";
import { LIVE, notReady, probe, READY, untilReadiness } from "../harness/probe";
import { freePort, SECRETS_KEY, startCore, startEdge, TOKENS, type TestProcess } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { until } from "../harness/wait";

let redis: TestRedis;
let core: Promise<TestProcess>;
let healthPort: number;
beforeAll(async () => {
  redis = await startTestRedis();
  await redis.kill();
  healthPort = await freePort();
  core = startCore(redis.url, { HEALTH_LISTEN: `127.0.0.1:${healthPort}` });
});
afterAll(async () => {
  await (await core).stop();
  await redis.close();
});

test("a core that waits for Redis stops on SIGTERM with exit code 0", async () => {
  const port = await freePort();
  const child = spawn(process.execPath, [join(__dirname, "../../dist/core/main.js")], {
    env: {
      REDIS_URL: redis.url,
      CORE_LISTEN: "127.0.0.1:0",
      HEALTH_LISTEN: `127.0.0.1:${port}`,
      CORE_TOKENS: `edge=${TOKENS.edge}`,
      SECRETS_KEY,
    },
    stdio: "ignore",
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  await untilReadiness({ healthPort: port }, 503).finally(() => child.kill("SIGTERM"));
  expect(await exited).toBe(0);
});

test("a core that starts before Redis is live and waits for it; then it is ready", async () => {
  expect(await untilReadiness({ healthPort }, 503)).toEqual(notReady("waiting for Redis"));
  expect(await probe({ healthPort }, "/live")).toEqual(LIVE);
  await redis.restart();
  await core;
  expect(await probe({ healthPort }, "/ready")).toEqual(READY);
  expect(await probe({ healthPort }, "/live")).toEqual(LIVE);
  expect((await probe({ healthPort }, "/other"))?.[0]).toBe(404);
});

test("an edge whose token core does not know is never ready, says why, and logs it once", async () => {
  const edge = await startEdge((await core).port, { CORE_TOKEN: "a-token-that-core-does-not-know" });
  const refused = JSON.stringify(notReady("core refuses CORE_TOKEN"));
  // A core that is slow to answer is out of reach at first.
  for (let i = 0; i < 6; i++) {
    await until("the edge says that core refuses its token", async () => {
      const answer = await probe(edge, "/ready");
      expect(answer?.[0]).toBe(503);
      return JSON.stringify(answer) === refused;
    });
  }
  const errors = () => edge.log.filter(({ level }) => Number(level) >= 50).map(({ msg }) => msg);
  await until("it is logged", () => errors().length > 0);
  expect(await edge.stop()).toBe(0);
  expect(errors()).toEqual([expect.stringContaining("core refuses CORE_TOKEN")]);
});
