import type { LogEntryDetail } from "../../core/ports/delivery-log";
import type { WorkspaceRecord } from "../../core/ports/workspaces";
import type { Delivery, ResponseStart } from "../../core/domain/delivery";
import { encodeDelivery } from "../../core/store/delivery-log";
import { asList, asText } from "../../core/store/redis/reply";
import { deliveryOf, pushQueueOf } from "../harness/push-queue";
import { addWorkspace, keyOf, publication, readPage, testClock, testStore, texts } from "../harness/store";

const DAY_US = 24 * 3_600 * 1_000_000;
const SECOND_US = 1_000_000;
const KB = 1024;

const store = testStore();
const { addPushed, publish, queue, record } = pushQueueOf(store);
// No test in this file opens another store, because that store would load the functions again and start their clock.
const clock = testClock(store);

const startOf = (text: string, isTruncated = false): ResponseStart => ({
  bytes: Buffer.from(text),
  isTruncated,
});
const ATTEMPT: Delivery = {
  eventId: "evt_x",
  eventType: "ping",
  attempt: 1,
  result: "status",
  status: 500,
  latencyMs: 1,
  address: "127.0.0.1",
};

async function entryOf(workspaceId: string, id: string): Promise<LogEntryDetail> {
  const entry = await store.deliveryLog.readEntry(workspaceId, id);
  if (entry === undefined) throw new Error("the log does not contain the entry");
  return entry;
}
const newest = async (workspaceId: string) => {
  const [entry] = await store.deliveryLog.read(workspaceId, 1, undefined);
  return entryOf(workspaceId, entry?.id ?? "");
};
const heldOf = ({ held }: LogEntryDetail) =>
  held.map((json) => (JSON.parse(String(json)) as { label: number }).label);

test("the entry of each attempt contains its own response; the entries of all attempts, and of the drop, contain the failed event", async () => {
  const workspace = await addPushed();
  const { id } = workspace;
  const push = await queue(workspace, "x", { push: "retried" });
  const retry = { do: "retry", attempts: 1, firstFailedAtMs: 1 } as const;
  await record(push, retry, deliveryOf(push, 1, "status"), { response: startOf("first") });
  const [first] = await store.deliveryLog.read(id, 1, undefined);
  expect(await entryOf(id, first?.id ?? "")).toMatchObject({ response: startOf("first"), failed: undefined });
  await record(push, { ...retry, attempts: 2 }, deliveryOf(push, 2, "timeout"));
  await record(push, "keep", deliveryOf(push, 3, "status"), { response: startOf("\0\xff third", true) });
  const entries = await store.deliveryLog.read(id, 10, undefined);
  const details = await Promise.all(entries.map((entry) => entryOf(id, entry.id)));
  expect(details.map(({ delivery }) => delivery)).toEqual(entries);
  expect(details.map(({ response }) => response)).toEqual([
    startOf("\0\xff third", true),
    undefined,
    startOf("first"),
  ]);
  const { eventId, eventType, envelope } = push;
  const kept = { eventId, eventType, envelope, expiresAtMs: null, failedAtMs: clock.us / 1_000 };
  expect(details.map(({ failed }) => failed)).toEqual([kept, kept, kept]);
});

test("the entry of a direct push that failed contains its event and response", async () => {
  const { id } = await addPushed();
  const envelope = Buffer.from('{"id":"evt_x"}');
  const failed = { eventId: "evt_x", sequence: 7, eventType: "ping", expiresAtMs: 9, envelope };
  const { id: entryId } = await store.deliveryLog.append(id, ATTEMPT, { response: startOf("no"), failed });
  expect(await entryOf(id, entryId)).toMatchObject({
    response: startOf("no"),
    failed: { eventId: "evt_x", eventType: "ping", expiresAtMs: 9, envelope },
  });
});

test("entries that are more than 7 days old are deleted when newer deliveries are logged", async () => {
  const { id } = await addPushed();
  const key = keyOf(store, id, "log");
  const idAt = (days: number) => `${Math.floor((clock.us - days * DAY_US) / 1_000)}-0`;
  const [deleted, kept] = [idAt(7.01), idAt(6.99)];
  for (const each of [deleted, kept]) {
    await store.redis.command(key, ["XADD", key, each, "d", encodeDelivery(ATTEMPT)]);
  }
  const { id: added } = await store.deliveryLog.append(id, ATTEMPT);
  const entries = asList(await store.redis.command(key, ["XRANGE", key, "-", "+"]));
  expect(entries.map((entry) => asText(asList(entry)[0]))).toEqual([kept, added]);
});

test("there is no entry for an unknown id or another workspace's id", async () => {
  const [one, other] = [await addPushed(), await addPushed()];
  const { id } = await store.deliveryLog.append(one.id, ATTEMPT);
  expect(await store.deliveryLog.readEntry(other.id, id)).toBeUndefined();
  expect(await store.deliveryLog.readEntry(one.id, "1-1")).toBeUndefined();
});

// time: controlled
test("the last 100 responses of a workspace are kept for 24 hours; their log entries are kept for longer", async () => {
  const workspace = await addPushed();
  const { id } = workspace;
  const ids: string[] = [];
  for (let i = 0; i <= 100; i++) {
    const push = await queue(workspace, String(i));
    const response = startOf(String(i).padEnd(KB, "x"));
    expect(await record(push, "done", deliveryOf(push, 1, "status"), { response })).toBe("recorded");
    const [entry] = await store.deliveryLog.read(id, 1, undefined);
    ids.push(entry?.id ?? "");
  }
  const responseAt = async (i: number) =>
    (await entryOf(id, ids[i] ?? "")).response?.bytes.toString().slice(0, 4);
  expect([await responseAt(0), await responseAt(1), await responseAt(100)]).toEqual([
    undefined,
    "1xxx",
    "100x",
  ]);
  const key = keyOf(store, id, "responses");
  expect(Number(await store.redis.command(key, ["XLEN", key]))).toBe(100);
  const bytes = Number(await store.redis.command(key, ["MEMORY", "USAGE", key, "SAMPLES", "0"]));
  expect(bytes).toBeLessThan(150 * KB);
  const ttl = Number(await store.redis.command(key, ["PTTL", key]));
  expect(ttl).toBeGreaterThan(DAY_US / 1_000 - 60_000);
  expect(ttl).toBeLessThanOrEqual(DAY_US / 1_000);
  await clock.pass(DAY_US + 60 * SECOND_US);
  expect(await responseAt(100)).toBeUndefined();
  // Storing another response also removes responses that are a day old from Redis. The ids of all responses contain the
  // real time, not the time of the stopped clock.
  await store.deliveryLog.append(id, ATTEMPT, { response: startOf("next") });
  expect(Number(await store.redis.command(key, ["XLEN", key]))).toBe(0);
});

describe("the entry of a poll that returned events", () => {
  const poll = (of: WorkspaceRecord, limit = 100, cursor?: string) => {
    const start = cursor === undefined ? ({ from: "oldest" } as const) : ({ from: "after", cursor } as const);
    return readPage(store, { record: of, page: { start, limit } });
  };
  /** Publishes events with the labels from `from` to `to`, one per second. Returns the sequence of the last event. */
  async function publishEach({ workspace }: WorkspaceRecord, from: number, to: number, size = 1) {
    let sequence = 0;
    for (let label = from; label <= to; label++) {
      await clock.pass(SECOND_US);
      const beforeSequence = `{"text":"${"x".repeat(size)}","label":${label},"sequence":`;
      const fields = { envelope: { beforeSequence, afterSequence: "}" } };
      sequence = await publish(workspace, String(label), fields);
    }
    return String(sequence);
  }
  const labels = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

  test.each([
    [1, 1],
    [5, 3],
    [9, 9],
    [120, 100],
    [30, 20],
  ])(
    "the entry of a poll contains exactly the returned events: of %i held events, a poll returns %i",
    async (published, limit) => {
      const of = await addWorkspace(store);
      const cursor = await publishEach(of, 1, published);
      await poll(of, limit);
      const entry = await newest(of.workspace.id);
      expect(heldOf(entry)).toEqual(labels(1, limit));
      expect(entry).toMatchObject({
        delivery: { polled: { events: limit } },
        failed: undefined,
        response: undefined,
      });
      await publishEach(of, published + 1, published + 3);
      await poll(of, 2, cursor);
      expect(heldOf(await newest(of.workspace.id))).toEqual(labels(published + 1, published + 2));
      expect(heldOf(await entryOf(of.workspace.id, entry.delivery.id))).toEqual(labels(1, limit));
    },
  );

  // time: controlled
  test("the entry of a poll contains only events that the poll returned and that have not expired", async () => {
    const of = await addWorkspace(store);
    await publishEach(of, 1, 12);
    await poll(of, 10);
    const { id } = (await newest(of.workspace.id)).delivery;
    await clock.pass(DAY_US - 4 * SECOND_US);
    expect(heldOf(await entryOf(of.workspace.id, id))).toEqual(labels(9, 10));
    // Publishing this event removes the expired events from Redis.
    await publishEach(of, 13, 13);
    expect(heldOf(await entryOf(of.workspace.id, id))).toEqual([10]);
    await clock.pass(60 * SECOND_US);
    expect(heldOf(await entryOf(of.workspace.id, id))).toEqual([]);
  });

  test("the entry of a poll contains at most 1 MB of events, the oldest first", async () => {
    const of = await addWorkspace(store);
    await publishEach(of, 1, 30, 60 * KB);
    await poll(of);
    expect(heldOf(await newest(of.workspace.id))).toEqual(labels(1, 17));
  });

  test("the entry of a poll contains no events if an older release wrote the entry, or if the polls returned no events", async () => {
    const of = await addWorkspace(store);
    const { id } = of.workspace;
    await poll(of);
    expect(await newest(id)).toMatchObject({ delivery: { polled: { polls: 1, events: 0 } }, held: [] });
    await publishEach(of, 1, 2);
    await poll(of);
    const key = keyOf(store, id, "polls");
    const line = (await texts(store, "LRANGE", key, "-1", "-1"))[0] ?? "";
    await store.redis.command(key, ["LSET", key, "-1", line.split(" ").slice(0, 4).join(" ")]);
    expect(await newest(id)).toMatchObject({ delivery: { polled: { polls: 1, events: 2 } }, held: [] });
  });
});

test("neither a successful attempt nor a poll stores a response or keeps an event", async () => {
  const workspace = await addPushed();
  const push = await queue(workspace, "x");
  await record(push, "done", deliveryOf(push, 1, "success"));
  const entry = await newest(workspace.id);
  expect(entry).toMatchObject({ response: undefined, failed: undefined, held: [] });
  expect(await texts(store, "KEYS", `*responses*${workspace.id}`)).toEqual([]);
  expect(await store.outboundEvents.publish(publication(workspace.id, "y"))).toMatchObject({
    outcome: "published",
  });
});
