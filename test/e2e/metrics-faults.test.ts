import { post } from "../harness/bridge";
import { readMetrics, valueOf } from "../harness/metrics";
import { freePort, startCore, startEdge, type TestProcess } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { connectToCore } from "../harness/core-clients";
import { createWorkspace, publish, textEvent } from "../harness/service";
import { evaluate, openTestStore } from "../harness/store";
import { until } from "../harness/wait";

const EVENT = { type: "command", channel: "c1", user: { id: "u1" }, text: "" };

let redis: TestRedis;
beforeEach(async () => {
  redis = await startTestRedis();
});
afterEach(() => redis.close());

const of = async (process: TestProcess, name: string, labels = ""): Promise<number> =>
  valueOf(await readMetrics(process), name, labels);

test("while Redis is away, metrics are served without what waits in it; connections that are made again are counted", async () => {
  const core = await startCore(redis.url);
  try {
    const connections = await of(core, "chatbridge_core_redis_connections_total");
    expect(connections).toBe(2);
    await redis.kill();
    await until(
      "the faults are counted",
      async () =>
        (await of(core, "chatbridge_core_redis_connection_faults_total")) > 0 &&
        (await of(core, "chatbridge_core_store_call_failures_total", 'function="join_group"')) > 0,
    );
    const away = await readMetrics(core);
    expect(away.get("chatbridge_core_push_queue_length")?.values.size).toBe(0);
    expect(away.get("chatbridge_core_push_oldest_seconds")?.values.size).toBe(0);
    await redis.restart();
    await until(
      "it is connected again",
      async () =>
        (await of(core, "chatbridge_core_redis_connections_total")) >= connections + 2 &&
        (await readMetrics(core)).get("chatbridge_core_push_queue_length")?.values.size === 1,
    );
  } finally {
    await core.stop();
  }
});

test("while core is away, the edge counts calls without an answer, and then the streams that it opens again", async () => {
  const port = await freePort();
  const core = await startCore(redis.url, { CORE_LISTEN: `127.0.0.1:${port}` });
  const edge = await startEdge(port);
  const url = `http://127.0.0.1:${edge.port}`;
  const clients = connectToCore(port);
  let again: TestProcess | undefined;
  try {
    const workspace = await createWorkspace(clients);
    expect((await post(url, workspace, EVENT)).status).toBe(202);
    const opened = await of(edge, "chatbridge_edge_lanes_opened_total");
    expect(opened).toBeGreaterThan(0);
    await core.stop("SIGKILL");
    await until("no stream is open", async () => (await of(edge, "chatbridge_edge_lanes")) === 0);
    const failures = async (): Promise<number> => {
      const values =
        (await readMetrics(edge)).get("chatbridge_edge_lane_failures_total")?.values ?? new Map();
      return [...values.values()].reduce((sum: number, value: number) => sum + value, 0);
    };
    const before = await failures();
    expect((await post(url, workspace, EVENT)).status).toBe(503);
    expect(await failures()).toBe(before + 1);
    expect(await of(edge, "chatbridge_edge_requests_total", 'endpoint="post",status="503"')).toBe(1);
    again = await startCore(redis.url, { CORE_LISTEN: `127.0.0.1:${port}` });
    await until("it is answered", async () => (await post(url, workspace, EVENT)).status === 202);
    expect(await of(edge, "chatbridge_edge_lanes_opened_total")).toBeGreaterThan(opened);
  } finally {
    clients.close();
    await edge.stop();
    await core.stop("SIGKILL");
    await again?.stop();
  }
});

// time: ordering
test("a metric says how far sequences run ahead of the clock", async () => {
  const core = await startCore(redis.url);
  const clients = connectToCore(core.port);
  const store = await openTestStore(redis.url);
  try {
    const { id } = await createWorkspace(clients);
    await publish(clients, textEvent(id, "now"));
    expect(await of(core, "chatbridge_core_sequence_ahead_seconds")).toBeLessThan(1);
    // As if Redis's clock had been an hour ahead when it minted the last one.
    const state = `${store.keys.prefix(store.keys.shard(id))}:st:${id}`;
    const hourAhead = (Date.now() + 3_600_000) * 1_000;
    await evaluate(store, "redis.call('HSET', KEYS[1], 'sequence', ARGV[1])", [state], hourAhead);
    await publish(clients, textEvent(id, "then"));
    const ahead = await of(core, "chatbridge_core_sequence_ahead_seconds");
    expect(ahead).toBeGreaterThan(3_000);
    // The clock that it is told by follows Redis's, and may be a little behind it.
    expect(ahead).toBeLessThan(3_602);
  } finally {
    await store.close();
    clients.close();
    await core.stop();
  }
});
