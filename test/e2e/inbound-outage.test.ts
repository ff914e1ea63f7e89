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
  until(`a post is answered ${wanted}`, async () => (await status()) === wanted);

const PREFIX = "chatbridge_core_";
const read = async (name: string, labels?: string) => valueOf(await readMetrics(core), PREFIX + name, labels);
/** How many values a metric of core has. */
const series = async (name: string) => (await readMetrics(core)).get(PREFIX + name)?.values.size;

/** Starts core again where it was, and waits until it serves. */
async function restartCore(): Promise<void> {
  core = await startCore(service.redis.url, coreAt);
  processes.push(core);
  await untilAnswered(202);
}

/** What holds while an event cannot be stored. */
async function expectOutage(): Promise<void> {
  await untilAnswered(503);
  for (let i = 0; i < 3; i++) {
    const answer = await post(service.url, workspace, event());
    expectRefusal(answer, 503);
    expect(answer.headers["retry-after"]).toBe("1");
  }
  // The edge makes check 1 by itself.
  expectRefusal(await post(service.url, workspace, "{"), 400);
  expectRefusal(await post(service.url, workspace, "x".repeat(65_537)), 413);
  expectRefusal(await send(service.url, "/nowhere"), 404);
}

/** Posts all along while `change` happens; every answer must be one that a bridge may get. */
async function postThrough(change: () => Promise<unknown>): Promise<void> {
  const changed = new AbortController();
  const seen = new Set<number>();
  const senders = Array.from({ length: 16 }, async () => {
    while (!changed.signal.aborted) seen.add(await status());
  });
  await until("posts are accepted", () => seen.has(202));
  await change();
  await until("posts are answered 503", () => seen.has(503));
  changed.abort();
  await Promise.all(senders);
  // The workspace's own limit may be met: the posts come as fast as they go.
  expect([...seen].filter((each) => ![202, 429, 503].includes(each))).toEqual([]);
}

test("while Redis is away, every post is answered 503 with Retry-After, and core is live but not ready; then service resumes", async () => {
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
  // What waits in Redis is not known.
  expect([await series("push_queue_length"), await series("push_oldest_seconds")]).toEqual([0, 0]);

  await service.redis.restart({ empty: false });
  await untilAnswered(202);
  expect(await untilReadiness(core, 200)).toEqual(READY);
  await until("it is known again", async () => (await series("push_queue_length")) === 1);
  expect(await read("redis_connections_total")).toBeGreaterThanOrEqual(4);
});

test("when Redis is back empty, service resumes without the workspaces", async () => {
  await service.redis.restart({ empty: true });
  await untilAnswered(404);
  workspace = await until("a workspace can be made", () => service.workspaces.make().catch(() => undefined));
  expect(await status()).toBe(202);
});

test("while core is away, every post is answered 503 with Retry-After, and the edge is live but not ready; then service resumes", async () => {
  await postThrough(() => core.stop("SIGKILL"));
  await expectOutage();
  expect(await untilReadiness(service.edge, 503)).toEqual(notReady("core is unavailable"));
  expect(await probe(service.edge, "/live")).toEqual(LIVE);

  await restartCore();
  expect(await untilReadiness(service.edge, 200)).toEqual(READY);
  await until("operators are served", () => service.workspaces.get(workspace.id).catch(() => undefined));
});

test("while core stops, it answers what it has taken, and the edge answers the rest 503", async () => {
  await postThrough(async () => expect(await core.stop()).toBe(0));
  await restartCore();
});

test("an outage is logged without faults, and without what was in flight", () => {
  expectQuiet(processes, [workspace.secret, "v1=", "private words", "Private Name"]);
});
