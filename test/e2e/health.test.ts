import { once } from "node:events";
import { join } from "node:path";
import { credentials, Metadata, status, type ServiceError } from "@grpc/grpc-js";
import {
  HealthCheckRequest,
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthClient,
} from "../../proto/gen/grpc/health/v1/health";
import { BUILD } from "../harness/build";
import { isWarning } from "../harness/output";
import { LIVE, notReady, probe, READY, untilReadiness } from "../harness/probe";
import { freePort, SECRETS_KEY, startCore, startEdge, TOKENS, type TestProcess } from "../harness/processes";
import { startProgram } from "../harness/program";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { HANG_MS, until } from "../harness/wait";

const ROOT = join(__dirname, "../..");

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
  const environment = {
    REDIS_URL: redis.url,
    CORE_LISTEN: "127.0.0.1:0",
    HEALTH_LISTEN: `127.0.0.1:${port}`,
    CORE_TOKENS: `edge=${TOKENS.edge}`,
    SECRETS_KEY,
  };
  const { stop } = startProgram([process.execPath, "dist/core/main.js"], { cwd: ROOT, environment });
  try {
    await untilReadiness({ healthPort: port }, 503);
  } finally {
    expect(await stop()).toBe(0);
  }
});

test("a core that starts without Redis is live but not ready, and becomes ready when Redis starts", async () => {
  expect(await untilReadiness({ healthPort }, 503)).toEqual(notReady("waiting for Redis"));
  expect(await probe({ healthPort }, "/live")).toEqual(LIVE);
  await redis.restart();
  const { log } = await core;
  expect(log).toContainEqual(expect.objectContaining({ msg: "core is ready", ...BUILD }));
  expect(await probe({ healthPort }, "/ready")).toEqual(READY);
  expect(await probe({ healthPort }, "/live")).toEqual(LIVE);
  expect((await probe({ healthPort }, "/other"))?.[0]).toBe(404);
});

test("gRPC's health service does not need a token, and reports whether core and each of its services are ready", async () => {
  const { port } = await core;
  const health = new HealthClient(`127.0.0.1:${port}`, credentials.createInsecure());
  const check = (service: string) =>
    new Promise<string>((resolve) => {
      const request = HealthCheckRequest.create({ service });
      health.check(request, new Metadata(), { deadline: Date.now() + HANG_MS }, (error, response) =>
        resolve(error === null ? ServingStatus[response.status] : status[error.code]),
      );
    });
  const all = ["", ...["Bridge", "Game", "Workspace"].map((name) => `chatbridge.v1.${name}Service`)];
  expect(await Promise.all(all.map(check))).toEqual(all.map(() => "SERVING"));
  expect(await check("chatbridge.v1.OtherService")).toBe("NOT_FOUND");
  const watch = health.watch(HealthCheckRequest.create());
  const [error] = (await once(watch, "error")) as [ServiceError];
  expect(error.code).toBe(status.UNIMPLEMENTED);
  await redis.kill();
  await until("core is not ready", async () => (await check("")) === "NOT_SERVING");
  expect(await check(all[1] ?? "")).toBe("NOT_SERVING");
  await redis.restart();
  await until("core is ready again", async () => (await check("")) === "SERVING");
  health.close();
});

test("an edge whose token core rejects is never ready, reports the reason, and logs it once", async () => {
  const token = { CORE_TOKEN: "a-token-that-core-does-not-know" };
  const edge = await startEdge((await core).port, token, "listening");
  const refused = JSON.stringify(notReady("core rejects CORE_TOKEN"));
  // If core answers slowly, the edge reports that core is unavailable, so the test waits for the report that core
  // rejects the token.
  for (let i = 0; i < 6; i++) {
    await until("the edge reports that core rejects its token", async () => {
      const answer = await probe(edge, "/ready");
      expect(answer?.[0]).toBe(503);
      return JSON.stringify(answer) === refused;
    });
  }
  const errors = () => edge.log.filter(isWarning).map(({ msg }) => msg);
  await until("the rejection is logged", () => errors().length > 0);
  expect(await edge.stop()).toBe(0);
  expect(errors()).toEqual([expect.stringContaining("core rejects CORE_TOKEN")]);
  expect(edge.log.map(({ msg }) => msg)).not.toContain("edge is ready");
});
