import { spawn } from "node:child_process";
import { join } from "node:path";
import { send } from "../harness/bridge";
import { freePort, SECRETS_KEY, startCore, startEdge, TOKENS } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { until } from "../harness/wait";

let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis();
});
afterAll(() => redis.close());

const BACK_MS = 20_000;

/** The status and body of a probe, undefined while nobody listens. */
async function probe(port: number, path: string): Promise<readonly [number, unknown] | undefined> {
  const answer = await send(`http://127.0.0.1:${port}`, path).catch(() => undefined);
  return answer && [answer.status, answer.json];
}

const LIVE = [200, { live: true }];
const READY = [200, { ready: true }];
const notReady = (reason: string) => [503, { ready: false, reason }];

/** Waits until a process answers its readiness with a status. */
async function untilReady(port: number, code: number): Promise<unknown> {
  return until(
    `readiness is ${code}`,
    async () => {
      const answer = await probe(port, "/ready");
      return answer?.[0] === code && answer;
    },
    BACK_MS,
  );
}

/** Waits until a process that is never ready says why: where core is slow to answer, it says just that. */
async function untilRefused(port: number, reason: string): Promise<void> {
  await until(
    `readiness is refused: ${reason}`,
    async () => {
      const answer = await probe(port, "/ready");
      expect(answer?.[0]).toBe(503);
      return JSON.stringify(answer) === JSON.stringify(notReady(reason));
    },
    BACK_MS,
  );
}

test("a core that is up is live and ready, and its probes know nothing else", async () => {
  const core = await startCore(redis.url);
  try {
    expect(await probe(core.healthPort, "/live")).toEqual(LIVE);
    expect(await probe(core.healthPort, "/ready")).toEqual(READY);
    expect((await probe(core.healthPort, "/other"))?.[0]).toBe(404);
  } finally {
    await core.stop();
  }
});

test("while Redis is away core is live but not ready, with the reason, and ready again when Redis is back", async () => {
  const core = await startCore(redis.url);
  try {
    await redis.kill();
    expect(await untilReady(core.healthPort, 503)).toEqual(notReady("Redis does not answer"));
    expect(await probe(core.healthPort, "/live")).toEqual(LIVE);
    await redis.restart();
    expect(await untilReady(core.healthPort, 200)).toEqual(READY);
  } finally {
    await core.stop();
  }
}, 60_000);

test("a core that starts before Redis waits for it, and is live meanwhile", async () => {
  await redis.kill();
  const healthPort = await freePort();
  const starting = startCore(redis.url, { HEALTH_LISTEN: `127.0.0.1:${healthPort}` });
  expect(await untilReady(healthPort, 503)).toEqual(notReady("waiting for Redis"));
  expect(await probe(healthPort, "/live")).toEqual(LIVE);
  await redis.restart();
  const core = await starting;
  try {
    expect(await probe(healthPort, "/ready")).toEqual(READY);
  } finally {
    await core.stop();
  }
}, 60_000);

test("a core that waits for Redis stops when it is told to, with exit code 0", async () => {
  await redis.kill();
  const healthPort = await freePort();
  const core = spawn(process.execPath, [join(__dirname, "../../dist/core/main.js")], {
    env: {
      REDIS_URL: redis.url,
      CORE_LISTEN: "127.0.0.1:0",
      HEALTH_LISTEN: `127.0.0.1:${healthPort}`,
      CORE_TOKENS: `edge=${TOKENS.edge}`,
      SECRETS_KEY,
    },
    stdio: "ignore",
  });
  const exited = new Promise((resolve) => core.once("exit", resolve));
  try {
    await untilReady(healthPort, 503);
  } finally {
    core.kill("SIGTERM");
  }
  expect(await exited).toBe(0);
  await redis.restart();
}, 60_000);

test("an edge is ready when core is there, not ready while it is away, and live throughout", async () => {
  const port = await freePort();
  const listening = { CORE_LISTEN: `127.0.0.1:${port}` };
  const edge = await startEdge(port);
  try {
    expect(await untilReady(edge.healthPort, 503)).toEqual(notReady("core is out of reach"));
    expect(await probe(edge.healthPort, "/live")).toEqual(LIVE);
    const core = await startCore(redis.url, listening);
    expect(await untilReady(edge.healthPort, 200)).toEqual(READY);
    await core.stop("SIGKILL");
    expect(await untilReady(edge.healthPort, 503)).toEqual(notReady("core is out of reach"));
    expect(await probe(edge.healthPort, "/live")).toEqual(LIVE);
    const again = await startCore(redis.url, listening);
    expect(await untilReady(edge.healthPort, 200)).toEqual(READY);
    await again.stop();
  } finally {
    await edge.stop();
  }
}, 60_000);

test("an edge whose token core does not know is not ready, with the reason, which it logs once", async () => {
  const core = await startCore(redis.url);
  const edge = await startEdge(core.port, { CORE_TOKEN: "a-token-that-core-does-not-know" });
  try {
    for (let i = 0; i < 6; i++) await untilRefused(edge.healthPort, "core refuses CORE_TOKEN");
    const errors = await until("it is logged", () => {
      const found = edge.log.filter(({ level }) => Number(level) >= 50).map(({ msg }) => msg);
      return found.length > 0 && found;
    });
    expect(errors).toEqual([expect.stringContaining("core refuses CORE_TOKEN")]);
  } finally {
    await edge.stop();
    await core.stop();
  }
}, 60_000);
