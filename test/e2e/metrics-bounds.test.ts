import type { Publication } from "../../core/ports/outbound-events";
import type { WorkspaceRecord } from "../../core/ports/workspaces";
import { startTestRedis, type TestRedis } from "../harness/redis";
import {
  addNeighbour,
  addWorkspace,
  evaluate,
  openTestStore,
  publication,
  type TestStore,
} from "../harness/store";

const PUSH_QUEUE_MAX = 100;
const PUSH_QUEUE_MAX_BYTES = 1_000_000;
const SHARD_OF_ALL = 0;

let redis: TestRedis;
let store: TestStore;
let overloaded: Publication[];
beforeEach(async () => {
  redis = await startTestRedis();
  overloaded = [];
  store = await openTestStore(redis.url, {
    pushQueueMax: PUSH_QUEUE_MAX,
    pushQueueMaxBytes: PUSH_QUEUE_MAX_BYTES,
    onOverloaded: (each) => overloaded.push(each),
  });
});
afterEach(async () => {
  await store.close();
  await redis.close();
});

const shardOf = ({ workspace }: WorkspaceRecord): number => store.keys.shard(workspace.id);
const logOf = (record: WorkspaceRecord): string => `${store.keys.prefix(shardOf(record))}:in`;
/**
 * Adds `count` events to the log in one step, with timestamps one millisecond apart from `fromMs` on, or all with the
 * current time.
 */
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

test.each([
  ["100 events", 0],
  // In this row, each event contains 60 KB of text in addition to its ids.
  ["1 MB", 60_000],
])(
  "events that exceed a push queue's limit of %s are dropped as overloaded, and logged",
  async (_what, size) => {
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
  },
);

// time: controlled
test("a group's backlog in a shard contains the number of unread events, the number of unacked events, and the time of the oldest of them", async () => {
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
