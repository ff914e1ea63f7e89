import { poll, post, send, signatureOf, nowSeconds } from "../harness/bridge";
import { burst } from "../harness/burst";
import { startConsumer, type } from "../harness/consumer";
import { readMetrics, valueOf } from "../harness/metrics";
import { exchange, rawRequest } from "../harness/raw-http";
import { createWorkspace, publish, startService, textEvent, type TestService } from "../harness/service";
import { evaluate, openTestStore, type TestStore } from "../harness/store";
import { until } from "../harness/wait";

const SOON_MS = 30_000;

let service: TestService;
let store: TestStore;
beforeAll(async () => {
  service = await startService({ core: { INBOUND_LOG_MAX: "1000" } });
  store = await openTestStore(service.redis.url);
}, 60_000);
afterAll(async () => {
  await store.close();
  await service.close();
});

const core = async (name: string, labels = ""): Promise<number> =>
  valueOf(await readMetrics(service.core), name, labels);
const edge = async (name: string, labels = ""): Promise<number> =>
  valueOf(await readMetrics(service.edge), name, labels);

/** Waits until a value has grown by just so much since `before`. */
async function grows(read: () => Promise<number>, before: number, by = 1): Promise<void> {
  await until("it is counted", async () => (await read()) >= before + by, SOON_MS);
  expect(await read()).toBe(before + by);
}

const EVENT = { type: "command", channel: "c1", user: { id: "u1" }, text: "" };
const base = (): string => service.url;
const make = () => createWorkspace(service.clients);

test.each<[string, string, string, () => Promise<{ status: number }>]>([
  ["an accepted event", "post", "202", async () => post(base(), await make(), EVENT)],
  ["a page", "poll", "200", async () => poll(base(), await make())],
  ["a body that is no JSON", "post", "400", async () => post(base(), await make(), "{")],
  ["a faulty query", "poll", "400", async () => poll(base(), await make(), "limit=0")],
  ["a wrong signature", "post", "401", async () => post(base(), { ...(await make()), secret: "x" }, EVENT)],
  ["an unknown workspace", "poll", "404", async () => poll(base(), { id: "nobody", secret: "x" })],
  ["too large a body", "post", "413", async () => post(base(), await make(), "x".repeat(70_000))],
  ["an unknown path", "none", "404", async () => send(base(), "/elsewhere")],
])("%s is counted by endpoint and status: %s %s", async (_what, endpoint, status, ask) => {
  const labels = `endpoint="${endpoint}",status="${status}"`;
  const before = await edge("chatbridge_edge_requests_total", labels);
  const durations = `_count endpoint="${endpoint}"`;
  const timed = await edge("chatbridge_edge_request_duration_seconds", durations);
  expect((await ask()).status).toBe(Number(status));
  await grows(() => edge("chatbridge_edge_requests_total", labels), before);
  expect(await edge("chatbridge_edge_request_duration_seconds", durations)).toBe(timed + 1);
});

test("what is not HTTP is counted, too", async () => {
  const labels = 'endpoint="none",status="400"';
  const before = await edge("chatbridge_edge_requests_total", labels);
  await exchange(base(), Buffer.from("this is not HTTP\r\n\r\n"), { until: 1 });
  await grows(() => edge("chatbridge_edge_requests_total", labels), before);
});

test.each<[string, string, string, () => Promise<unknown>]>([
  ["an event", "receive", "stored", async () => post(base(), await make(), EVENT)],
  [
    "a repeated event",
    "receive",
    "repeated",
    async () => {
      const workspace = await make();
      await post(base(), workspace, { ...EVENT, id: "1" });
      await post(base(), workspace, { ...EVENT, id: "1" });
    },
  ],
  ["a page", "poll", "page", async () => poll(base(), await make())],
  ["a broken field rule", "receive", "invalid", async () => post(base(), await make(), {})],
  ["a faulty query", "poll", "invalid", async () => poll(base(), await make(), "limit=0")],
  ["a wrong signature", "poll", "signature", async () => poll(base(), { ...(await make()), secret: "x" })],
  ["nobody's request", "receive", "unknown-workspace", () => post(base(), { id: "no", secret: "" }, EVENT)],
  [
    "an old timestamp",
    "receive",
    "timestamp",
    async () => {
      const workspace = await make();
      const body = JSON.stringify(EVENT);
      const old = signatureOf(workspace.secret, body, nowSeconds() - 1_000);
      await post(base(), workspace, body, { headers: { "Service-Signature": old } });
    },
  ],
])("core counts its answers: %s is %s, %s", async (_what, call, answer, ask) => {
  const labels = `call="${call}",answer="${answer}"`;
  const before = await core("chatbridge_core_answers_total", labels);
  await ask();
  await grows(() => core("chatbridge_core_answers_total", labels), before);
});

test("requests over the limits are counted by the limit, and those that the edge refused early by themselves", async () => {
  const workspace = await make();
  const from = "127.0.0.9";
  const requests = Array.from({ length: 600 }, (_, i) => {
    const body = JSON.stringify({ ...EVENT, id: String(i) });
    return rawRequest(
      "POST",
      `/hooks/${workspace.id}`,
      { "Service-Signature": signatureOf(workspace.secret, body) },
      body,
    );
  });
  const seen = async () => ({
    address: await core("chatbridge_core_answers_total", 'call="receive",answer="address-limit"'),
    workspace: await core("chatbridge_core_answers_total", 'call="receive",answer="workspace-limit"'),
    early: await edge("chatbridge_edge_shield_refusals_total"),
    refused: await edge("chatbridge_edge_requests_total", 'endpoint="post",status="429"'),
  });
  await until(
    "each limit has refused, and the shield",
    async () => {
      await burst(base(), requests, { from });
      const { address, workspace: own, early } = await seen();
      return address + early > 0 && own > 0 && early > 0;
    },
    SOON_MS,
  );
  const { address, workspace: own, early, refused } = await seen();
  expect(address + own + early).toBe(refused);
}, 60_000);

test("published events and those that games follow are counted, and how far each group is behind", async () => {
  const workspace = await make();
  const before = await core("chatbridge_core_published_total", 'outcome="published"');
  await publish(service.clients, textEvent(workspace.id, "a"), textEvent(workspace.id, "b"));
  expect(await core("chatbridge_core_published_total", 'outcome="published"')).toBe(before + 2);
  await publish(service.clients, textEvent("nobody", "c"));
  expect(await core("chatbridge_core_published_total", 'outcome="unknown-workspace"')).toBeGreaterThan(0);

  const consumer = await startConsumer(service.clients.games, { group: "behind", window: 2 }).opened();
  for (const text of ["1", "2", "3", "4", "5"]) expect(await type(base(), workspace, text)).toBe(true);
  await consumer.sees(2);
  const own = 'group="behind"';
  expect(await core("chatbridge_core_follow_streams")).toBe(1);
  expect(await core("chatbridge_core_follow_in_flight")).toBe(2);
  expect(await core("chatbridge_core_follow_unread", own)).toBe(3);
  expect(await core("chatbridge_core_follow_unacked", own)).toBe(2);
  const age = (): Promise<number> => core("chatbridge_core_follow_oldest_seconds", own);
  // It is told by a clock that follows Redis's, and may be a little behind it.
  const aged = await until("it has an age", async () => {
    const seconds = await age();
    return seconds > 0 && seconds;
  });
  await until("it ages", async () => (await age()) > aged);
  consumer.ackAll();
  await consumer.sees(5);
  await until(
    "it has caught up",
    async () =>
      (await core("chatbridge_core_follow_unread", own)) === 0 &&
      (await core("chatbridge_core_follow_unacked", own)) === 0,
    SOON_MS,
  );
  expect(await core("chatbridge_core_follow_oldest_seconds", own)).toBe(0);
  consumer.cancel();
  await until(
    "the stream is gone",
    async () => (await core("chatbridge_core_follow_streams")) === 0,
    SOON_MS,
  );
}, 60_000);

test("inbound events that leave the log before a group has acked them are counted and logged, never silently gone", async () => {
  const workspace = await make();
  await store.followLog.open("too-slow");
  const log = `${store.keys.prefix(store.keys.shard(workspace.id))}:in`;
  const fill = `for i = 1, 2000 do redis.call('XADD', KEYS[1], '*', 'w', ARGV[1], 'e', 'event') end`;
  await evaluate(store, fill, [log], workspace.id);
  expect(await type(base(), workspace, "one more")).toBe(true);
  const lost = await core("chatbridge_core_inbound_dropped_total", 'reason="size"');
  expect(lost).toBeGreaterThan(500);
  const told = await until("it is logged", () =>
    service.core.log.find(
      ({ msg }) => msg === "inbound events were dropped before every group had acked them",
    ),
  );
  expect(told).toMatchObject({ level: 40, count: lost, reason: "size", group: expect.any(String) });
});

test("calls of Redis are timed by function, and how many requests share one", async () => {
  const workspace = await make();
  const calls = await core("chatbridge_core_store_call_duration_seconds", '_count function="page"');
  await poll(base(), workspace);
  const metrics = await readMetrics(service.core);
  expect(valueOf(metrics, "chatbridge_core_store_call_duration_seconds", '_count function="page"')).toBe(
    calls + 1,
  );
  expect(valueOf(metrics, "chatbridge_core_store_batch_size", '_count function="page"')).toBe(calls + 1);
  expect(
    valueOf(metrics, "chatbridge_core_store_call_duration_seconds", '_bucket function="page",le="+Inf"'),
  ).toBe(calls + 1);
});

test("what is under way is no more when it is answered, and every shard is held", async () => {
  await until("all shards are held", async () => (await core("chatbridge_core_shards_held")) === 16, SOON_MS);
  for (const name of ["chatbridge_core_lane_calls", "chatbridge_core_lane_bytes"])
    expect(await core(name)).toBe(0);
  for (const name of ["chatbridge_edge_lane_calls", "chatbridge_edge_lane_bytes"])
    expect(await edge(name)).toBe(0);
  expect(await core("chatbridge_core_lanes")).toBe(await edge("chatbridge_edge_lanes"));
});
