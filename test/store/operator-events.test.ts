import { OPERATOR_EVENTS_MAX, OPERATOR_EVENTS_WORKSPACE_MAX } from "../../core/domain/operator-event";
import type { Workspace } from "../../core/domain/workspace";
import type { Delivery } from "../../core/domain/delivery";
import type { QueuedPush } from "../../core/ports/push-queue";
import { deliveryOf, pushQueueOf } from "../harness/push-queue";
import { addNeighbour, addWorkspace, evaluate, prefixOf, testStore } from "../harness/store";

const store = testStore();
const { addPushed, shardOf, queue, record, fail, publish, change } = pushQueueOf(store);
// Each test starts with empty outboxes.
beforeEach(() => store.redis.command("", ["FLUSHALL"]));

const MINUTE_MS = 60_000;

/** Changes the store as if the failures of the workspace were `ms` milliseconds older. */
async function pass({ id }: Workspace, ms: number): Promise<void> {
  await evaluate(
    store,
    `if redis.call('ZSCORE', KEYS[1], ARGV[1]) then redis.call('ZINCRBY', KEYS[1], -ARGV[2], ARGV[1]) end
     for _, field in ipairs({ 'faulty', 'alerted', 'warned', 'exhausted' }) do
       if redis.call('HEXISTS', KEYS[2], field) == 1 then redis.call('HINCRBY', KEYS[2], field, -ARGV[2]) end
     end`,
    [`${prefixOf(store, id)}:due`, `${prefixOf(store, id)}:st:${id}`],
    id,
    ms,
  );
}

const look = (workspace: Workspace) => store.pollWatch.findFailing(shardOf(workspace));
const eventsOf = async (workspace: Workspace) => store.operatorOutbox.read(shardOf(workspace), undefined);
const typesOf = async (workspace: Workspace) => (await eventsOf(workspace)).map(({ type }) => type);

let labels = 0;
/** Publishes an event and records an attempt to push this event. */
async function attempt(
  workspace: Workspace,
  result: Delivery["result"],
  next: "done" | "retry" | "keep" = result === "success" ? "done" : "retry",
): Promise<QueuedPush> {
  const push = await queue(workspace, `attempt${labels++}`);
  const does = next === "retry" ? ({ do: next, attempts: 1, firstFailedAtMs: 1 } as const) : next;
  expect(await record(push, does, deliveryOf(push, 1, result))).toBe("recorded");
  return push;
}

// time: controlled
test("a workspace whose pushes fail for a minute gets only one failing event, however many cores check it", async () => {
  const workspace = await addPushed();
  await attempt(workspace, "timeout");
  await pass(workspace, MINUTE_MS - 1_000);
  await look(workspace);
  expect(await typesOf(workspace)).toEqual([]);
  await pass(workspace, 1_000);
  await Promise.all(Array.from({ length: 20 }, () => look(workspace)));
  await attempt(workspace, "status");
  await pass(workspace, MINUTE_MS);
  await look(workspace);
  const [event, ...more] = await eventsOf(workspace);
  expect(more).toEqual([]);
  expect(event).toMatchObject({
    type: "workspace.failing",
    mode: "push",
    reason: "timeout",
    status: undefined,
  });
  expect(event?.id).toBe(`op_${workspace.id}_${event?.entryId}`);
  expect(event?.atMs).toBeGreaterThanOrEqual((event?.sinceMs ?? Infinity) + MINUTE_MS);
});

// time: controlled
test("the first accepted attempt ends an outage, and a recovered event follows only if the outage had a failing event", async () => {
  const workspace = await addPushed();
  await attempt(workspace, "timeout");
  await attempt(workspace, "success");
  await pass(workspace, 10 * MINUTE_MS);
  await look(workspace);
  expect(await typesOf(workspace)).toEqual([]);
  await attempt(workspace, "status");
  await pass(workspace, MINUTE_MS);
  await look(workspace);
  for (let i = 0; i < 3; i++) await attempt(workspace, "success");
  const [failing, recovered, ...more] = await eventsOf(workspace);
  expect(more).toEqual([]);
  expect(recovered).toMatchObject({
    type: "workspace.recovered",
    reason: "accepted",
    sinceMs: failing?.sinceMs,
  });
});

// time: controlled
test("a bridge that repeatedly fails and recovers gets at most one failing event in 5 minutes", async () => {
  const workspace = await addPushed();
  for (let minute = 0; minute < 20; minute++) {
    await attempt(workspace, "timeout");
    await pass(workspace, MINUTE_MS);
    await look(workspace);
    await attempt(workspace, "success");
  }
  const types = await typesOf(workspace);
  expect(types.filter((type) => type === "workspace.failing").length).toBeLessThanOrEqual(4);
  expect(types.length).toBeGreaterThan(0);
});

// time: controlled
test("exhausted retries are reported once, with a count, and again only after an attempt was accepted and 5 minutes have passed", async () => {
  const workspace = await addPushed();
  const counts = async () =>
    (await eventsOf(workspace)).flatMap(({ type, event }) =>
      type === "event.retries_exhausted" ? [event?.count] : [],
    );
  const first = await fail(workspace, "first");
  await fail(workspace, "second");
  await pass(workspace, 5 * MINUTE_MS);
  await fail(workspace, "third");
  expect(await counts()).toEqual([1]);
  await attempt(workspace, "success");
  await fail(workspace, "fourth");
  expect(await counts()).toEqual([1, 3]);
  await attempt(workspace, "success");
  await fail(workspace, "fifth");
  expect(await counts()).toEqual([1, 3]);
  const [event] = await eventsOf(workspace);
  expect(event).toMatchObject({
    reason: "timeout",
    event: { id: first.eventId, type: first.eventType, attempts: 1 },
  });
});

test("a dropped event is not a failed attempt, and an event that is dropped because of overload is not an exhausted retry", async () => {
  const workspace = await addPushed();
  await attempt(workspace, "expired", "done");
  await attempt(workspace, "overloaded", "keep");
  await pass(workspace, 10 * MINUTE_MS);
  await look(workspace);
  expect(await typesOf(workspace)).toEqual([]);
});

test("an outcome that is recorded twice causes only one event", async () => {
  const workspace = await addPushed();
  const push = await queue(workspace, "twice");
  await Promise.all([1, 2, 3].map(() => record(push, "keep", deliveryOf(push, 3, "status"))));
  expect(await typesOf(workspace)).toEqual(["event.retries_exhausted"]);
});

// time: controlled
test("an accepted attempt prevents a failing event, even if a core of an older release logged the attempt", async () => {
  const workspace = await addPushed();
  await attempt(workspace, "timeout");
  const key = `${prefixOf(store, workspace.id)}:log:${workspace.id}`;
  const entry = JSON.stringify(["evt_1", "ping", 1, "success", 204, 1, ""]);
  await store.redis.command("", ["XADD", key, "*", "d", entry]);
  await pass(workspace, MINUTE_MS);
  await look(workspace);
  expect(await typesOf(workspace)).toEqual([]);
});

// time: controlled
test("an outage of a poll workspace causes one failing event along with the email, and one recovered event at the next poll", async () => {
  const recorded = await addWorkspace(store);
  const { workspace } = recorded;
  await publish(workspace, "waits");
  await pass(workspace, 5 * MINUTE_MS);
  await Promise.all([look(workspace), look(workspace)]);
  const page = { start: { from: "oldest" }, limit: 10 } as const;
  for (let i = 0; i < 3; i++) await store.heldEvents.page({ record: recorded, page });
  const [failing, recovered, ...more] = await eventsOf(workspace);
  expect(more).toEqual([]);
  expect(failing).toMatchObject({ type: "workspace.failing", mode: "poll", reason: "not-polling" });
  expect(failing?.oldestWaitingAtMs).toBeLessThanOrEqual(failing?.sinceMs ?? 0);
  expect(recovered).toMatchObject({
    type: "workspace.recovered",
    reason: "polled",
    sinceMs: failing?.sinceMs,
  });
  expect(await store.pollWatch.readMail(shardOf(workspace), undefined)).toHaveLength(1);
});

// time: controlled
test.each([
  ["push", { targetUrl: "" }],
  ["push", { connected: false }],
  ["poll", { connected: false }],
  ["poll", { targetUrl: "https://bridge.example/" }],
])("an outage of a %s workspace ends when the workspace is reconfigured: %o", async (mode, fields) => {
  const workspace = mode === "push" ? await addPushed() : (await addWorkspace(store)).workspace;
  if (mode === "push") await attempt(workspace, "timeout");
  else await publish(workspace, "waits");
  await pass(workspace, 5 * MINUTE_MS);
  await look(workspace);
  await change(workspace, fields);
  expect(await eventsOf(workspace)).toMatchObject([
    { type: "workspace.failing", mode },
    { type: "workspace.recovered", mode, reason: "reconfigured" },
  ]);
});

// time: controlled
test("renaming a workspace does not cancel its pending failing event", async () => {
  const workspace = await addPushed();
  await attempt(workspace, "timeout");
  await change(workspace, { name: "renamed" });
  await pass(workspace, MINUTE_MS);
  await look(workspace);
  expect(await typesOf(workspace)).toEqual(["workspace.failing"]);
});

// time: controlled
test("a push that fails after its workspace began to poll does not change when the workspace counts as failing", async () => {
  const workspace = await addPushed();
  const push = await queue(workspace, "late");
  await change(workspace, { targetUrl: "" });
  await publish(workspace, "waits");
  expect(await record(push, "keep", deliveryOf(push, 1, "timeout"))).toBe("recorded");
  await pass(workspace, MINUTE_MS);
  expect((await look(workspace)).workspaceIds).toEqual([]);
  await pass(workspace, 4 * MINUTE_MS);
  expect((await look(workspace)).workspaceIds).toEqual([workspace.id]);
});

test("a full outbox drops its oldest events, expired events are removed, and both are counted", async () => {
  const workspace = await addPushed();
  const key = `${prefixOf(store, workspace.id)}:operator`;
  const facts = JSON.stringify({ mode: "push", since: 1 });
  await evaluate(
    store,
    `for i = 1, tonumber(ARGV[1]) do
       redis.call('XADD', KEYS[1], i .. '-0', 'w', 'w', 't', 'workspace.failing', 'f', ARGV[2])
     end`,
    [key],
    OPERATOR_EVENTS_MAX,
    facts,
  );
  await fail(workspace, "new");
  expect(await look(workspace)).toMatchObject({
    operatorEvents: 1,
    operatorEventsDropped: { full: 1, expired: OPERATOR_EVENTS_MAX - 1 },
  });
  expect(await look(workspace)).toMatchObject({
    operatorEvents: 1,
    operatorEventsDropped: { full: 0, expired: 0 },
  });
  const [event] = await eventsOf(workspace);
  if (event === undefined) throw new Error("the outbox is empty");
  await store.operatorOutbox.remove(shardOf(workspace), event);
  expect(await typesOf(workspace)).toEqual([]);
});

/** Returns how often Redis has run each command. */
async function commandCalls(): Promise<Readonly<Record<string, string>>> {
  const info = String(await store.redis.command("", ["INFO", "commandstats"]));
  const lines = info.matchAll(/cmdstat_([^:]+):calls=(\d+)/g);
  return Object.fromEntries([...lines].map(([, name = "", calls = ""]) => [name, calls]));
}

test("an accepted push of a healthy workspace does not run any Redis command for operator events", async () => {
  const workspace = await addPushed();
  const pushes = [];
  for (const label of ["a", "b"]) pushes.push(await queue(workspace, label));
  const [first, second] = pushes;
  if (first === undefined || second === undefined) throw new Error("no push is queued");
  await record(first, "done", deliveryOf(first, 1, "success"));
  await store.redis.command("", ["CONFIG", "RESETSTAT"]);
  await record(second, "done", deliveryOf(second, 1, "success"));
  const calls = await commandCalls();
  expect(calls).toMatchObject({ hmget: "1", xadd: "1" });
  expect(calls).not.toHaveProperty("hget");
  expect(calls).not.toHaveProperty("zrem");
  expect(calls).not.toHaveProperty("zadd");
});

test("a workspace that has used its share of the outbox loses its own oldest events, but no event of another workspace", async () => {
  const record = await addWorkspace(store, { targetUrl: "https://bridge.example/events" });
  const { workspace: hostile } = record;
  const { targetUrl } = hostile;
  const { workspace: other } = await addNeighbour(store, record, { targetUrl });
  await fail(other, "other");
  const prefix = prefixOf(store, hostile.id);
  /** Makes core report the workspace's next exhausted retry as if it were the first. */
  const forget = () => store.redis.command("", ["HDEL", `${prefix}:st:${hostile.id}`, "exhausted", "faulty"]);
  for (let i = 0; i < OPERATOR_EVENTS_WORKSPACE_MAX + 3; i++) {
    await forget();
    await fail(hostile, `hostile${i}`);
  }
  const events = await allEventsOf(hostile);
  const labels = (id: string) =>
    events.flatMap(({ workspaceId, event }) => (workspaceId === id ? [event?.id] : []));
  expect(labels(other.id)).toEqual(["evt_other"]);
  const kept = Array.from({ length: OPERATOR_EVENTS_WORKSPACE_MAX }, (_, i) => `evt_hostile${i + 3}`);
  expect(labels(hostile.id)).toEqual(kept);
  expect((await look(hostile)).operatorEventsDropped).toEqual({ full: 3, expired: 0 });
  // A delivered event no longer counts toward the workspace's share.
  const [first] = events.filter(({ workspaceId }) => workspaceId === hostile.id);
  if (first === undefined) throw new Error("the outbox is empty");
  await store.operatorOutbox.remove(shardOf(hostile), first);
  await forget();
  await fail(hostile, "more");
  expect((await look(hostile)).operatorEventsDropped).toEqual({ full: 0, expired: 0 });
});

/** Returns all events of the outbox of the workspace's shard. */
async function allEventsOf(workspace: Workspace) {
  const all = [...(await store.operatorOutbox.read(shardOf(workspace), undefined))];
  for (;;) {
    const more = await store.operatorOutbox.read(shardOf(workspace), all.at(-1)?.entryId);
    if (more.length === 0) return all;
    all.push(...more);
  }
}
