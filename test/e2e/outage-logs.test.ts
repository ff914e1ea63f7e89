import { notReady, probe, READY, untilReadiness } from "../harness/probe";
import { freePort, startCore, startEdge, type LogLine, type TestProcess } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { startRedisNodes } from "../harness/redis-node";
import { until } from "../harness/wait";

const REDIS_LOST = "Redis is unavailable: core retries; check that Redis runs, and check REDIS_URL";
const CORE_LOST =
  "core is unavailable: requests are answered with 503; check that core runs, and check CORE_ADDRESS";

let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis();
});
afterAll(() => redis.close());

const lines = ({ log }: TestProcess, msg: string): readonly LogLine[] =>
  log.filter((line) => line["msg"] === msg);
const untilLogged = (process: TestProcess, msg: string, count = 1) =>
  until(`"${msg}" is logged`, () => lines(process, msg).length >= count);

test("an edge without core logs why core is unavailable; it logs that it is ready only after core has accepted its token", async () => {
  const port = await freePort();
  const edge = await startEdge(port, {}, "listening");
  await untilLogged(edge, CORE_LOST);
  expect(lines(edge, "edge is ready")).toEqual([]);
  expect(lines(edge, CORE_LOST)[0]).toMatchObject({
    level: "warn",
    address: `127.0.0.1:${port}`,
    reason: expect.stringContaining("ECONNREFUSED"),
  });
  expect(await probe(edge, "/ready")).toEqual(notReady("core is unavailable"));

  const at = { CORE_LISTEN: `127.0.0.1:${port}` };
  const core = await startCore(redis.url, at);
  await untilLogged(edge, "edge is ready");
  expect(await untilReadiness(edge, 200)).toEqual(READY);
  await untilLogged(edge, "core is available again");
  const before = lines(edge, CORE_LOST).length;

  await core.stop("SIGKILL");
  await untilLogged(edge, CORE_LOST, before + 1);
  const next = await startCore(redis.url, at);
  await untilLogged(edge, "core is available again", 2);
  expect(lines(edge, "core is available again")[1]).toMatchObject({
    level: "info",
    seconds: expect.any(Number),
  });
  expect(lines(edge, "edge is ready")).toHaveLength(1);
  await edge.stop();
  await next.stop();
  expect([edge, next].flatMap(({ log }) => log.filter(({ err }) => err !== undefined))).toEqual([]);
});

test("an edge that stops together with core does not log an outage", async () => {
  const core = await startCore(redis.url);
  const edge = await startEdge(core.port);
  await edge.stop();
  await core.stop();
  expect(lines(edge, CORE_LOST)).toEqual([]);
});

test("core logs that Redis is unavailable and why, and when Redis is available again", async () => {
  const { node, close } = await startRedisNodes(async (startNode) => ({
    node: await startNode({ lines: [] }),
  }));
  const USER = ["ACL", "SETUSER", "core", "reset", "on", "~*", "&*", "+@all"];
  await node.command(...USER, ">right");
  const core = await startCore(`redis://core:right@127.0.0.1:${node.port}`);
  expect(lines(core, REDIS_LOST)).toEqual([]);

  await node.command(...USER, ">wrong");
  await node.command("CLIENT", "KILL", "USER", "core");
  const reasons = () => lines(core, REDIS_LOST).map(({ reason }) => String(reason));
  await until("the rejected password is logged", () => reasons().some((each) => each.includes("WRONGPASS")));
  expect(new Set(reasons()).size).toBe(reasons().length);
  expect(lines(core, REDIS_LOST).map(({ level }) => level)).toEqual(reasons().map(() => "error"));
  await node.command(...USER, ">right");
  await untilLogged(core, "Redis is available again");
  expect(lines(core, "Redis is available again")[0]).toMatchObject({
    level: "info",
    seconds: expect.any(Number),
  });

  await node.kill();
  await until("the lost connection is logged", () => reasons().some((each) => each.includes("ECONNREFUSED")));
  await core.stop();
  await close();
  expect(core.log.filter(({ err }) => err !== undefined)).toEqual([]);
  expect(JSON.stringify(core.log)).not.toMatch(/right|wrong"/);
});
