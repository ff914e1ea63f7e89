import type { InboundDropped, Publication, WorkspaceRecord } from "../../core/ports/store";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { asNumber } from "../../core/store/redis/reply";
import {
  addNeighbour,
  addWorkspace,
  evaluate,
  inbound,
  openTestStore,
  publication,
  type TestStore,
} from "../harness/store";

const LOG_MAX = 1_000;
const PUSH_QUEUE_MAX = 100;
const PUSH_QUEUE_MAX_BYTES = 1_000_000;
/** Number of entries in each node of a stream, whatever the size of the entries. Redis trims only whole nodes. */
const NODE = 100;
const SHARD_OF_ALL = 0;

let redis: TestRedis;
let store: TestStore;
let dropped: InboundDropped[];
let overloaded: Publication[];
beforeEach(async () => {
  redis = await startTestRedis(["--stream-node-max-entries", String(NODE), "--stream-node-max-bytes", "0"]);
  dropped = [];
  overloaded = [];
  store = await openTestStore(redis.url, {
    inboundLogMax: LOG_MAX,
    pushQueueMax: PUSH_QUEUE_MAX,
    pushQueueMaxBytes: PUSH_QUEUE_MAX_BYTES,
    onDropped: (each) => dropped.push(each),
    onOverloaded: (each) => overloaded.push(each),
  });
});
afterEach(async () => {
  await store.close();
  await redis.close();
});

const shardOf = ({ workspace }: WorkspaceRecord): number => store.keys.shard(workspace.id);
const logOf = (record: WorkspaceRecord): string => `${store.keys.prefix(shardOf(record))}:in`;
let appended = 0;

/** Appends one event, as a request from a bridge does. */
async function append(record: WorkspaceRecord): Promise<void> {
  const identity = { by: "id", id: String(appended++) } as const;
  const answer = await store.inboundLog.append({ record, event: { identity, bytes: Buffer.from("event") } });
  expect(answer).toEqual({ outcome: "stored" });
}

/** Adds `count` events to the log in one step: one per millisecond from `fromMs` on, or all at the current time. */
async function fill(record: WorkspaceRecord, count: number, fromMs?: number): Promise<void> {
  const script = `
    for i = 1, tonumber(ARGV[1]) do
      local id = ARGV[2] == '' and '*' or string.format('%.0f-1', tonumber(ARGV[2]) + i)
      redis.call('XADD', KEYS[1], id, 'w', ARGV[3], 'e', 'event')
    end`;
  await evaluate(store, script, [logOf(record)], count, fromMs ?? "", record.workspace.id);
}

/** Makes a consumer of a group read `read` events of the log, and ack the first `acked` of them. */
async function follow(record: WorkspaceRecord, group: string, read: number, acked: number): Promise<void> {
  const shard = shardOf(record);
  const member = { group, name: "c", token: `token of ${group}` };
  await store.followLog.take(member, shard);
  const fresh = read > 0 ? await store.followLog.readNew(member, shard, read) : undefined;
  const entries = fresh?.entries ?? [];
  expect(entries).toHaveLength(read);
  const ids = entries.slice(0, acked).map(({ entryId }) => entryId);
  await store.followLog.ack(group, shard, ids);
}

const lost = (reason: "size" | "age"): number =>
  dropped.filter((each) => each.reason === reason).reduce((sum, { count }) => sum + count, 0);

// Each log gets 300 events more than its limit: three whole nodes.
test.each<[string, readonly (readonly [group: string, read: number, acked: number])[], object[]]>([
  ["events that a group has not read", [["g", 0, 0]], [{ count: 300, group: "g" }]],
  ["events that a group has not acked", [["g", 400, 0]], [{ count: 300, group: "g" }]],
  [
    "events that a group has not acked, if it acked some events",
    [["g", 250, 100]],
    [{ count: 200, group: "g" }],
  ],
  [
    "events that a group has not read, if it acked all events that it read",
    [["g", 150, 150]],
    [{ count: 150, group: "g" }],
  ],
  ["no events, if a group has acked all events", [["g", 400, 400]], []],
  [
    "events that the slowest of several groups has not acked",
    [
      ["quick", 400, 400],
      ["slow", 50, 50],
      ["middle", 100, 100],
    ],
    [{ count: 250, group: "slow" }],
  ],
  ["all events, if there is no group", [], [{ count: 300, group: undefined }]],
])("when a log is full, these dropped events are counted: %s", async (_what, groups, lost) => {
  const record = await addWorkspace(store);
  for (const [group] of groups) await store.followLog.open(group);
  await fill(record, LOG_MAX - 1);
  await append(record);
  expect(dropped).toEqual([]);
  await fill(record, 3 * NODE - 1);
  for (const [group, read, acked] of groups) await follow(record, group, read, acked);
  await append(record);
  expect(dropped).toEqual(lost.map((each) => ({ reason: "size", ...each })));
  expect((await store.backlog.read(shardOf(record))).inboundEvents).toBe(LOG_MAX);
});

test("a log stays near its byte limit, and counts each event that is dropped", async () => {
  await store.redis.command("", ["CONFIG", "SET", "stream-node-max-bytes", "4096"]);
  const bytesMax = 100_000;
  const small = await openTestStore(redis.url, {
    inboundLogMaxBytes: bytesMax,
    onDropped: (each) => dropped.push(each),
  });
  const record = await addWorkspace(store);
  const count = 240;
  const events = Array.from({ length: count }, (_, i) => inbound(record, `large ${i}`, "x".repeat(1_000)));
  for (const event of events) await small.inboundLog.append(event);
  const { inboundEvents } = await store.backlog.read(shardOf(record));
  const log = logOf(record);
  const bytes = asNumber(await store.redis.command(log, ["MEMORY", "USAGE", log, "SAMPLES", "0"]));
  expect(bytes).toBeGreaterThan(bytesMax / 2);
  expect(bytes).toBeLessThan(bytesMax * 1.1);
  expect(lost("size")).toBe(count - inboundEvents);
  await small.close();
});

// time: controlled
test("events older than 24 hours are dropped from the log, and each is counted once", async () => {
  const record = await addWorkspace(store);
  await store.followLog.open("g");
  const dayAgo = Date.now() - 25 * 60 * 60 * 1000;
  await fill(record, 2 * NODE, dayAgo);
  await fill(record, LOG_MAX - NODE);
  await follow(record, "g", 100, 0);
  await append(record);
  expect(lost("age")).toBe(2 * NODE);
  await fill(record, 5 * NODE);
  await append(record);
  // The group has read only the oldest 100 events. They were dropped and counted above, and are not counted again.
  expect(lost("age")).toBe(2 * NODE);
  const { inboundEvents } = await store.backlog.read(shardOf(record));
  expect(lost("size")).toBe(LOG_MAX - NODE + 5 * NODE + 2 - inboundEvents);
});

test.each([
  ["100 events", 0],
  // In this row, each event takes 60 KB, plus the bytes of its ids.
  ["1 MB", 60_000],
])("events over a push queue's limit of %s are dropped as overloaded, and logged", async (_what, size) => {
  const record = await addWorkspace(store, { targetUrl: "https://bridge.test/" });
  const { id } = record.workspace;
  const room = size === 0 ? PUSH_QUEUE_MAX : Math.floor(PUSH_QUEUE_MAX_BYTES / (size + 200));
  const labels = Array.from({ length: room + 3 }, (_, i) => i);
  const envelope = { beforeSequence: "0".repeat(size), afterSequence: "" };
  const published = await Promise.all(
    labels.map((label) => store.outboundEvents.publish(publication(id, label, { envelope }))),
  );
  expect(published.map(({ outcome }) => outcome)).toEqual(labels.map(() => "published"));
  const over = labels.slice(room).map((label) => `evt_${label}`);
  expect(overloaded.map(({ eventId }) => eventId)).toEqual(over);
  const log = await store.deliveryLog.read(id, 10, undefined);
  expect(log.map(({ eventId, attempt, result }) => [eventId, attempt, result])).toEqual(
    over.toReversed().map((eventId) => [eventId, 0, "overloaded"]),
  );
  const { pushes, pushBytes } = await store.backlog.read(shardOf(record));
  expect([pushes, pushBytes <= PUSH_QUEUE_MAX_BYTES]).toEqual([room, true]);
  // Held events in the same shard do not count toward the push queue's limit.
  const polled = await addNeighbour(store, record);
  await store.outboundEvents.publish(publication(polled.workspace.id, "held"));
  expect(overloaded).toHaveLength(over.length);
  const page = await store.heldEvents.page({
    record: polled,
    page: { start: { from: "oldest" }, limit: 10 },
  });
  expect(page.outcome === "page" && page.events).toHaveLength(1);
});

// time: controlled
test("for each group, the backlog of a shard has the numbers of unread and unacked events, and the time of the oldest of these events", async () => {
  expect(await store.backlog.read(SHARD_OF_ALL)).toEqual({
    pushes: 0,
    pushBytes: 0,
    oldestPushAtMs: undefined,
    mails: 0,
    inboundEvents: 0,
    operatorEvents: 0,
    groups: [],
  });
  const record = await addWorkspace(store);
  await fill(record, 10);
  await store.followLog.open("late");
  await fill(record, 20, Date.now() + 1_000);
  const groupsOf = async () => (await store.backlog.read(shardOf(record))).groups;
  const first = await groupsOf();
  expect(first).toEqual([{ group: "late", unread: 20, unacked: 0, oldestAtMs: expect.any(Number) }]);
  await follow(record, "late", 8, 5);
  const [group] = await groupsOf();
  expect(group).toMatchObject({ unread: 12, unacked: 3 });
  expect((group?.oldestAtMs ?? 0) - (first[0]?.oldestAtMs ?? 0)).toBe(5);
  await follow(record, "late", 12, 12);
  expect(await groupsOf()).toMatchObject([{ unread: 0, unacked: 3 }]);
});
