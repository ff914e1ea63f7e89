import { poll, post, send, signatureOf, nowSeconds } from "../harness/bridge";
import { startConsumer, type } from "../harness/consumer";
import { readMetrics, valueOf } from "../harness/metrics";
import { freePort, startCore, type TestProcess } from "../harness/processes";
import { exchange, rawRequest } from "../harness/raw-http";
import { publish, startService, textEvent, type TestService, type TestWorkspace } from "../harness/service";
import { fixLimiters } from "../harness/limiters";
import { evaluate, keyOf, openTestStore, type TestStore } from "../harness/store";
import { until } from "../harness/wait";

let service: TestService;
let store: TestStore;
let settings: Record<string, string>;
let coreAgain: TestProcess | undefined;
beforeAll(async () => {
  settings = { INBOUND_LOG_MAX: "1000", CORE_LISTEN: `127.0.0.1:${await freePort()}` };
  service = await startService({ core: settings });
  store = await openTestStore(service.redis.url);
});
afterAll(async () => {
  await store.close();
  await coreAgain?.stop();
  await service.close();
});

const core = async (name: string, labels = ""): Promise<number> =>
  valueOf(await readMetrics(service.core), name, labels);
const edge = async (name: string, labels = ""): Promise<number> =>
  valueOf(await readMetrics(service.edge), name, labels);

/** Waits until a value reaches `before + by`; fails if the value is then higher. */
async function grows(read: () => Promise<number>, before: number, by = 1): Promise<void> {
  await until("the value has grown", async () => (await read()) >= before + by);
  expect(await read()).toBe(before + by);
}

const EVENT = { type: "command", channel: "c1", user: { id: "u1" }, text: "" };
const base = (): string => service.url;
const make = () => service.workspaces.make();

type Ask = () => Promise<{ status: number }>;
/**
 * Returns a function that creates a workspace and posts to it; `claims` replaces the id or secret that the request
 * uses.
 */
const posting =
  (event: object | string, claims: Partial<TestWorkspace> = {}): Ask =>
  async () =>
    post(base(), { ...(await make()), ...claims }, event);
const polling =
  (query = "", claims: Partial<TestWorkspace> = {}): Ask =>
  async () =>
    poll(base(), { ...(await make()), ...claims }, query);

// If `answer` is empty, core does not count the request.
test.each<[string, string, number, string, Ask]>([
  ["an accepted event", "post", 202, "stored", posting(EVENT)],
  ["a page", "poll", 200, "page", polling()],
  ["a body that is not JSON", "post", 400, "", posting("{")],
  ["an invalid field", "post", 400, "invalid", posting({})],
  ["an invalid query", "poll", 400, "invalid", polling("limit=0")],
  ["a post with a wrong signature", "post", 401, "signature", posting(EVENT, { secret: "x" })],
  ["a poll with a wrong signature", "poll", 401, "signature", polling("", { secret: "x" })],
  ["an old timestamp", "post", 409, "timestamp", () => postSignedAt(nowSeconds() - 1_000)],
  ["a post to an unknown workspace", "post", 404, "unknown-workspace", posting(EVENT, { id: "no" })],
  ["a poll of an unknown workspace", "poll", 404, "unknown-workspace", polling("", { id: "no" })],
  ["a body that is too large", "post", 413, "", posting("x".repeat(70_000))],
  ["an unknown path", "none", 404, "", () => send(base(), "/elsewhere")],
])("%s is counted by the edge as %s %i, by core as %j", async (_what, endpoint, status, answer, ask) => {
  const labels = `endpoint="${endpoint}",status="${status}"`;
  const durations = `_count endpoint="${endpoint}"`;
  const call = endpoint === "post" ? "receive" : endpoint;
  const answers = () => core("chatbridge_core_answers_total", `call="${call}",answer="${answer}"`);
  const before = [
    await edge("chatbridge_edge_requests_total", labels),
    await edge("chatbridge_edge_request_duration_seconds", durations),
    await answers(),
  ] as const;
  expect((await ask()).status).toBe(status);
  await grows(() => edge("chatbridge_edge_requests_total", labels), before[0]);
  expect(await edge("chatbridge_edge_request_duration_seconds", durations)).toBe(before[1] + 1);
  if (answer !== "") await grows(answers, before[2]);
});

async function postSignedAt(t: number): Promise<{ status: number }> {
  const workspace = await make();
  const body = JSON.stringify(EVENT);
  const headers = { "Service-Signature": signatureOf(workspace.secret, body, t) };
  return post(base(), workspace, body, { headers });
}

test("a repeated event and a request that is not HTTP are counted", async () => {
  const repeated = () => core("chatbridge_core_answers_total", 'call="receive",answer="repeated"');
  const malformed = () => edge("chatbridge_edge_requests_total", 'endpoint="none",status="400"');
  const before = [await repeated(), await malformed()] as const;
  const workspace = await make();
  for (let i = 0; i < 2; i++) await post(base(), workspace, { ...EVENT, id: "1" });
  await grows(repeated, before[0]);
  await exchange(base(), "this is not HTTP\r\n\r\n", { until: 1 });
  await grows(malformed, before[1]);
});

// time: controlled
test.each([
  ["workspace", 250],
  ["address", 500],
] as const)("requests over the %s limit are counted under that limit", async (limit, count) => {
  const workspace = await make();
  const from = "127.0.0.9";
  const limiters = await fixLimiters(store);
  const counted = (): Promise<number> =>
    core("chatbridge_core_answers_total", `call="receive",answer="${limit}-limit"`);
  const before = await counted();
  await limiters.fill(limit, limit === "workspace" ? workspace.id : from, count);
  expect((await post(base(), workspace, EVENT, { from })).status).toBe(429);
  await grows(counted, before);
});

// time: smoke
test("requests that the edge rejects with 429 without calling core are counted", async () => {
  const from = "127.0.0.10";
  const requests = Buffer.concat(Array<Buffer>(75).fill(rawRequest("POST", "/hooks/nobody", {}, "{}")));
  const early = (): Promise<number> => edge("chatbridge_edge_shield_refusals_total");
  const refused = (): Promise<number> =>
    edge("chatbridge_edge_requests_total", 'endpoint="post",status="429"');
  const asked = (): Promise<number> =>
    core("chatbridge_core_answers_total", 'call="receive",answer="address-limit"');
  const before = [await refused(), await asked()] as const;
  await until("the edge rejects a request without a call to core", async () => {
    await Promise.all(Array.from({ length: 8 }, () => exchange(base(), requests, { until: 75, from })));
    return (await early()) > 0;
  });
  expect((await early()) + (await asked()) - before[1]).toBe((await refused()) - before[0]);
});

test("published events, streams and unacked events are counted, and metrics show how far behind each group is", async () => {
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
  // The age is measured with the service clock, which follows Redis's clock and can be slightly behind it.
  const aged = await until("the oldest event has an age", async () => {
    const seconds = await age();
    return seconds > 0 && seconds;
  });
  await until("the age grows", async () => (await age()) > aged);
  consumer.ackAll();
  await consumer.sees(5);
  await until(
    "the group has caught up",
    async () =>
      (await core("chatbridge_core_follow_unread", own)) === 0 &&
      (await core("chatbridge_core_follow_unacked", own)) === 0,
  );
  expect(await core("chatbridge_core_follow_oldest_seconds", own)).toBe(0);
  consumer.cancel();
  await until("the stream has ended", async () => (await core("chatbridge_core_follow_streams")) === 0);
});

test("inbound events that are dropped before every group has acked them are counted and logged", async () => {
  const workspace = await make();
  const shard = store.keys.shard(workspace.id);
  for (const group of ["too-slow", "quick"]) await store.followLog.open(group);
  const log = `${store.keys.prefix(shard)}:in`;
  const fill = `for i = 1, 2000 do redis.call('XADD', KEYS[1], '*', 'w', ARGV[1], 'e', 'event') end`;
  await evaluate(store, fill, [log], workspace.id);
  const quick = { group: "quick", name: "c", token: "token of quick" };
  await store.followLog.take(quick, shard);
  const read = (await store.followLog.readNew(quick, shard, 2_000))?.entries ?? [];
  await store.followLog.ack(
    "quick",
    shard,
    read.map(({ entryId }) => entryId),
  );
  // Core checks the size of the log each time the log has grown by a 16th of INBOUND_LOG_MAX.
  for (let i = 0; i < 1_000 / 16 + 1; i++) expect(await type(base(), workspace, "one more")).toBe(true);
  const lost = await core("chatbridge_core_inbound_dropped_total", 'reason="size"');
  expect(lost).toBeGreaterThan(500);
  const told = await until("the drop is logged", () =>
    service.core.log.find(
      ({ msg }) => msg === "inbound events were dropped before every group had acked them",
    ),
  );
  expect(told).toMatchObject({ level: "warn", count: lost, reason: "size", group: expect.any(String) });
});

test("metrics show how long calls of each Redis function take, and how many requests each call contains", async () => {
  const workspace = await make();
  const [duration, batch] = [
    "chatbridge_core_store_call_duration_seconds",
    "chatbridge_core_store_batch_size",
  ];
  const calls = await core(duration, '_count function="page"');
  await poll(base(), workspace);
  expect(await core(duration, '_count function="page"')).toBe(calls + 1);
  expect(await core(duration, '_bucket function="page",le="+Inf"')).toBe(calls + 1);
  expect(await core(batch, '_count function="page"')).toBe(calls + 1);
});

test("the gauges of calls in progress return to 0 when all calls are answered; a gauge shows that core holds the leases of all shards", async () => {
  await until("all shards are held", async () => (await core("chatbridge_core_shards_held")) === 16);
  for (const name of ["chatbridge_core_lane_calls", "chatbridge_core_lane_bytes"])
    expect(await core(name)).toBe(0);
  for (const name of ["chatbridge_edge_lane_calls", "chatbridge_edge_lane_bytes"])
    expect(await edge(name)).toBe(0);
  expect(await core("chatbridge_core_lanes")).toBe(await edge("chatbridge_edge_lanes"));
});

// time: ordering
test("a metric shows how far the sequences of events are ahead of the clock", async () => {
  const ahead = () => core("chatbridge_core_sequence_ahead_seconds");
  const { id } = await make();
  await publish(service.clients, textEvent(id, "now"));
  expect(await ahead()).toBeLessThan(1);
  // Sets the last sequence as if Redis's clock had been an hour ahead.
  const state = keyOf(store, id, "st");
  await store.redis.command(state, ["HSET", state, "sequence", String((Date.now() + 3_600_000) * 1_000)]);
  await publish(service.clients, textEvent(id, "then"));
  const seconds = await ahead();
  expect(seconds).toBeGreaterThan(3_000);
  // The metric uses the service clock, which follows Redis's clock and can be slightly behind it.
  expect(seconds).toBeLessThan(3_602);
});

test("the edge counts the calls that fail while core is unavailable, and the lanes that it opens afterwards", async () => {
  const workspace = await make();
  const opened = await edge("chatbridge_edge_lanes_opened_total");
  expect(opened).toBeGreaterThan(0);
  await service.core.stop("SIGKILL");
  await until("no lane is open", async () => (await edge("chatbridge_edge_lanes")) === 0);
  const failures = async (): Promise<number> => {
    const counts = (await readMetrics(service.edge)).get("chatbridge_edge_lane_failures_total")?.values;
    return [...(counts?.values() ?? [])].reduce((sum, count) => sum + count, 0);
  };
  const before = await failures();
  expect((await post(base(), workspace, EVENT)).status).toBe(503);
  expect(await failures()).toBe(before + 1);
  expect(await edge("chatbridge_edge_requests_total", 'endpoint="post",status="503"')).toBe(1);
  coreAgain = await startCore(service.redis.url, settings);
  await until("a post is accepted", async () => (await post(base(), workspace, EVENT)).status === 202);
  expect(await edge("chatbridge_edge_lanes_opened_total")).toBeGreaterThan(opened);
});
