import { post, send } from "../harness/bridge";
import { readMetrics, valueOf } from "../harness/metrics";
import { expectQuiet } from "../harness/output";
import { LIVE, notReady, probe, READY, untilReadiness } from "../harness/probe";
import { freePort, startCore, type TestProcess } from "../harness/processes";
import { expectRefusal } from "../harness/refusals";
import { startService, type TestService, type TestWorkspace } from "../harness/service";
import { until } from "../harness/wait";

let service: TestService;
let core: TestProcess;
let coreAt: { CORE_LISTEN: string };
let workspace: TestWorkspace;
const processes: TestProcess[] = [];
beforeAll(async () => {
  coreAt = { CORE_LISTEN: `127.0.0.1:${await freePort()}` };
  service = await startService({ core: coreAt });
  core = service.core;
  processes.push(core, service.edge);
  workspace = await service.workspaces.make();
});
afterAll(async () => {
  await core.stop();
  await service.close();
});

let events = 0;
const user = { id: "u1", name: "Private Name" };
const event = () => ({ type: "message", id: `r${++events}`, channel: "c1", user, text: "private words" });

const status = async () => (await post(service.url, workspace, event())).status;
const untilAnswered = (wanted: number) =>
  until(`a post is answered with ${wanted}`, async () => (await status()) === wanted);

const PREFIX = "chatbridge_core_";
const read = async (name: string, labels?: string) => valueOf(await readMetrics(core), PREFIX + name, labels);
/** Returns the number of series that a metric of core has. */
const series = async (name: string) => (await readMetrics(core)).get(PREFIX + name)?.values.size;

/** Restarts core at the same address, and waits until posts are accepted. */
async function restartCore(): Promise<void> {
  core = await startCore(service.redis.url, coreAt);
  processes.push(core);
  await untilAnswered(202);
}

/** Fails unless requests are answered as documented while no event can be stored. */
async function expectOutage(): Promise<void> {
  await untilAnswered(503);
  for (let i = 0; i < 3; i++) {
    const answer = await post(service.url, workspace, event());
    expectRefusal(answer, 503);
    expect(answer.headers["retry-after"]).toBe("1");
  }
  // Without core, the edge still performs check 1 of docs/checks.md, and still answers requests for unknown
  // paths.
  expectRefusal(await post(service.url, workspace, "{"), 400);
  expectRefusal(await post(service.url, workspace, "x".repeat(65_537)), 413);
  expectRefusal(await send(service.url, "/nowhere"), 404);
}

/** Posts continuously during `change`; fails on any answer other than 202, 429 or 503. */
async function postThrough(change: () => Promise<unknown>): Promise<void> {
  const changed = new AbortController();
  const seen = new Set<number>();
  const senders = Array.from({ length: 16 }, async () => {
    while (!changed.signal.aborted) seen.add(await status());
  });
  await until("posts are accepted", () => seen.has(202));
  await change();
  await until("posts are answered with 503", () => seen.has(503));
  changed.abort();
  await Promise.all(senders);
  // The posts are sent as fast as possible, so they can exceed the workspace's limit and be answered with 429.
  expect([...seen].filter((each) => ![202, 429, 503].includes(each))).toEqual([]);
}

test("while Redis is unavailable, posts are answered with 503 and Retry-After, and core is live but not ready; when Redis restarts, service resumes", async () => {
  expect([await probe(core, "/ready"), await untilReadiness(service.edge, 200)]).toEqual([READY, READY]);
  expect(await read("redis_connections_total")).toBe(2);
  await postThrough(() => service.redis.kill());
  await expectOutage();
  expect(await untilReadiness(core, 503)).toEqual(notReady("Redis does not answer"));
  expect([await probe(core, "/live"), await probe(service.edge, "/ready")]).toEqual([LIVE, READY]);
  await until("the faults are counted", async () => {
    const failures = await read("store_call_failures_total", 'function="join_group"');
    return failures > 0 && (await read("redis_connection_faults_total")) > 0;
  });
  // Core cannot read the queues in Redis, so the metrics of the push queue have no series.
  expect([await series("push_queue_length"), await series("push_oldest_seconds")]).toEqual([0, 0]);

  await service.redis.restart({ empty: false });
  await untilAnswered(202);
  expect(await untilReadiness(core, 200)).toEqual(READY);
  await until(
    "the length of the queue is known again",
    async () => (await series("push_queue_length")) === 1,
  );
  expect(await read("redis_connections_total")).toBeGreaterThanOrEqual(4);
});

test("when Redis restarts empty, service resumes without the workspaces", async () => {
  await service.redis.restart({ empty: true });
  await untilAnswered(404);
  workspace = await until("a workspace can be made", () => service.workspaces.make().catch(() => undefined));
  expect(await status()).toBe(202);
});

test("while core is unavailable, posts are answered with 503 and Retry-After, and the edge is live but not ready; when core restarts, service resumes", async () => {
  await postThrough(() => core.stop("SIGKILL"));
  await expectOutage();
  expect(await untilReadiness(service.edge, 503)).toEqual(notReady("core is unavailable"));
  expect(await probe(service.edge, "/live")).toEqual(LIVE);

  await restartCore();
  expect(await untilReadiness(service.edge, 200)).toEqual(READY);
  await until("operators are served", () => service.workspaces.get(workspace.id).catch(() => undefined));
});

test("a stopping core exits with code 0, and posts are answered only with 202, 429 or 503", async () => {
  await postThrough(async () => expect(await core.stop()).toBe(0));
  await restartCore();
});

test("during an outage, core and the edge log no other errors, no stack traces, and no private data from the requests", () => {
  const outage = "Redis is unavailable: core retries; check that Redis runs, and check REDIS_URL";
  expectQuiet(processes, [workspace.secret, "v1=", "private words", "Private Name"], outage);
});
