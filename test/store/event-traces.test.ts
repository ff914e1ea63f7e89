import { ulid } from "ulid";
import { SENT_AGAIN_MAX } from "../../contract/deliveries";
import type { Delivery } from "../../core/domain/delivery";
import { renderEnvelope } from "../../core/domain/envelope";
import type { EventSummary } from "../../core/domain/event-summary";
import type { Workspace } from "../../core/domain/workspace";
import type { Publication } from "../../core/ports/outbound-events";
import { packEvent } from "../../core/store/packed-event";
import { asNumber } from "../../core/store/redis/reply";
import { deliveryOf, pushQueueOf } from "../harness/push-queue";
import {
  addNeighbour,
  addWorkspace,
  keyOf,
  openTestStore,
  publication,
  testClock,
  testStore,
  texts,
} from "../harness/store";

const store = testStore();
const clock = testClock(store);
const { addPushed, change, keepLease, queueOf, record, shardOf } = pushQueueOf(store);

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const nowMs = (): number => clock.us / 1_000;
const SUMMARY: EventSummary = { channel: "general", userId: "", messageId: "msg_1", text: "Who is in?" };

/** Returns a publication like those that core makes. The id of its event contains the time `ms`. */
function eventOf(
  { id }: Pick<Workspace, "id">,
  fields: Partial<Publication> = {},
  ms = nowMs(),
): Publication {
  const eventId = `evt_${ulid(ms)}`;
  const message = {
    kind: "text",
    text: SUMMARY.text,
    buttons: [],
    image: null,
    awaitsReply: false,
    data: null,
  } as const;
  const head = { eventId, workspaceId: id, createdAtMs: ms, expiresAtMs: null };
  const content = { type: "message.create", channel: SUMMARY.channel, message } as const;
  const envelope = renderEnvelope(head, content, SUMMARY.messageId);
  return publication(id, "x", { eventId, envelope, publisher: "trivia", ...fields });
}

async function publish(workspace: Workspace, fields?: Partial<Publication>, ms?: number): Promise<string> {
  const event = eventOf(workspace, fields, ms);
  await store.outboundEvents.publish(event);
  return event.eventId;
}

/** Publishes an event to a push workspace. Returns the queued event. */
async function queue(workspace: Workspace, fields?: Partial<Publication>) {
  const eventId = await publish(workspace, fields);
  const found = (await queueOf(workspace, undefined, { events: 10_000, bytes: 1e9 })).find(
    (push) => push.eventId === eventId,
  );
  if (found === undefined) throw new Error("the event is not queued");
  return found;
}

const ABOUT = { summary: SUMMARY, publisher: "trivia", expiresAtMs: null };
const recordOf = async ({ id }: Workspace) => {
  const found = await store.workspaces.read(id);
  if (found === undefined) throw new Error("no such workspace");
  return found;
};
const logOf = ({ id }: Workspace) => store.deliveryLog.read(id, 10, undefined);

test("the log says which message each attempt was about, and which token published its event", async () => {
  const workspace = await addPushed();
  const push = await queue(workspace);
  expect(push.publisher).toBe("trivia");
  const event = { summary: { ...SUMMARY, text: 'ä 🎲 "\\' }, publisher: push.publisher, expiresAtMs: 9 };
  await record(push, "keep", { ...deliveryOf(push, 1, "status"), event });
  expect(await logOf(workspace)).toMatchObject([{ eventId: push.eventId, event }]);
  const { attempts, failed } = await store.eventTraces.read(workspace.id, push.eventId);
  expect(attempts).toMatchObject([{ delivery: { event } }]);
  expect(failed).toMatchObject({ eventId: push.eventId, envelope: push.envelope });
});

test("a failed attempt does not count as accepted, even if its event contains the word success", async () => {
  const workspace = await addPushed();
  const push = await queue(workspace, { push: "retried" });
  const event = {
    ...ABOUT,
    summary: { channel: "success", userId: "", messageId: "success", text: "success" },
  };
  const retry = { do: "retry", attempts: 1, firstFailedAtMs: 1 } as const;
  await record(push, retry, { ...deliveryOf(push, 1, "status"), event });
  expect(await texts(store, "HMGET", keyOf(store, workspace.id, "st"), "faulty")).toEqual([String(nowMs())]);
  await record(push, "done", { ...deliveryOf(push, 2, "success"), event });
  expect(
    asNumber(await store.redis.command("", ["HEXISTS", keyOf(store, workspace.id, "st"), "faulty"])),
  ).toBe(0);
});

// time: controlled
test("an event is found by its time, even if many other events are held or queued", async () => {
  const poller = (await addWorkspace(store)).workspace;
  const pusher = await addPushed();
  const publishMany = (workspace: Workspace, count: number) =>
    store.outboundEvents.publishAll(Array.from({ length: count }, () => eventOf(workspace)));
  await publishMany(poller, 2_000);
  await clock.pass(MINUTE_MS * 1_000);
  await publishMany(poller, 1_000);
  const heldId = await publish(poller);
  await publishMany(poller, 2_000);
  const { held, queued } = await store.eventTraces.read(poller.id, heldId);
  expect([held, queued]).toMatchObject([{ publisher: "trivia", isFetched: false }, undefined]);

  await publishMany(pusher, 1_000);
  // The test cannot stop the clock from which Redis makes the ids of queued events.
  const queuedId = await publish(pusher, {}, Date.now());
  await publishMany(pusher, 2_000);
  const found = await store.eventTraces.read(pusher.id, queuedId);
  expect([found.held, found.queued]).toMatchObject([undefined, { publisher: "trivia" }]);
  const other = await addNeighbour(store, await recordOf(pusher));
  expect((await store.eventTraces.read(other.workspace.id, queuedId)).queued).toBeUndefined();
});

// time: controlled
test("an event that was queued for a long time before it was held is found", async () => {
  const workspace = await addPushed();
  const push = await queue(workspace);
  await clock.pass(90 * MINUTE_MS * 1_000);
  await change(workspace, { targetUrl: "" });
  expect(await record(push, "hold")).toBe("recorded");
  const { held, queued } = await store.eventTraces.read(workspace.id, push.eventId);
  expect(held).toMatchObject({ publisher: "trivia", isFetched: false });
  expect(String(held?.envelope)).toContain(push.eventId);
  expect(queued).toBeUndefined();
  await clock.pass(DAY_MS * 1_000);
  expect((await store.eventTraces.read(workspace.id, push.eventId)).held).toBeUndefined();
});

test("an event that an older release stored is found, but without a summary and a publisher", async () => {
  const poller = (await addWorkspace(store)).workspace;
  const held = eventOf(poller);
  const json = `${held.envelope.beforeSequence}${clock.us}${held.envelope.afterSequence}`;
  await store.redis.command("", ["XADD", keyOf(store, poller.id, "held"), `${clock.us}-0`, "1", json]);
  const found = await store.eventTraces.read(poller.id, held.eventId);
  expect(found.held).toEqual({ envelope: Buffer.from(json), publisher: "", isFetched: false });

  const pusher = await addPushed();
  const eventId = `evt_${ulid(Date.now())}`;
  const packed = packEvent(pusher.id, {
    eventId,
    sequence: 7,
    eventType: "message.create",
    expiresAtMs: null,
    envelope: Buffer.from(json),
  });
  const queueKey = `${store.keys.prefix(shardOf(pusher))}:push`;
  // A search reads a bounded number of events. The previous test has queued that many events in one shard.
  await store.redis.command("", ["DEL", queueKey]);
  await store.redis.command("", ["XADD", queueKey, "*", "p", packed]);
  expect((await store.eventTraces.read(pusher.id, eventId)).queued).toMatchObject({ publisher: "" });
  const [push] = await queueOf(pusher, undefined, { events: 10_000, bytes: 1e9 });
  expect(push).toMatchObject({ eventId, publisher: "" });
  const entry = JSON.stringify([eventId, "message.create", 1, "status", 500, 3, "127.0.0.1"]);
  await store.redis.command("", ["XADD", keyOf(store, pusher.id, "log"), "*", "d", entry]);
  expect((await logOf(pusher))[0]?.event).toBeUndefined();
  expect((await store.eventTraces.read(pusher.id, eventId)).attempts).toHaveLength(1);
});

test("an older release reads the first fields of a new entry unchanged", async () => {
  const pusher = await addPushed();
  const push = await queue(pusher);
  await record(push, "keep", { ...deliveryOf(push, 1, "timeout"), event: ABOUT });
  const [, [, entry = ""]] = await rawEntry(keyOf(store, pusher.id, "log"));
  expect((JSON.parse(entry) as unknown[]).slice(0, 7)).toEqual([
    push.eventId,
    "message.create",
    1,
    "timeout",
    0,
    12,
    "127.0.0.1",
  ]);
});

test("the entry of a held event has one field, whose name contains the event's number and its publisher", async () => {
  const poller = (await addWorkspace(store)).workspace;
  const eventId = await publish(poller);
  const [, fields] = await rawEntry(keyOf(store, poller.id, "held"));
  expect(fields).toEqual(["1 trivia", expect.stringContaining(`{"id":"${eventId}"`)]);
});

/** Returns the id and the fields of the last entry of a stream. */
async function rawEntry(key: string): Promise<readonly [id: string, fields: readonly string[]]> {
  const [entry] = (await store.redis.command("", ["XREVRANGE", key, "+", "-", "COUNT", "1"])) as [
    [Buffer, Buffer[]],
  ];
  return [String(entry[0]), entry[1].map(String)];
}

// time: controlled
test("core records the last events that were sent again, and the name of the token, for 7 days or until the workspace is deleted", async () => {
  const workspace = await addPushed();
  const fail = async (): Promise<string> => {
    const push = await queue(workspace);
    const delivery: Delivery = { ...deliveryOf(push, 1, "timeout"), event: ABOUT };
    await record(push, "keep", delivery);
    return push.eventId;
  };
  const eventId = await fail();
  const sendAll = async (eventIds: readonly string[], by: string) => {
    const results = await store.failedEvents.sendAgain(workspace.id, eventIds, by);
    for (const push of await queueOf(workspace, undefined, { events: 10_000, bytes: 1e9 })) {
      await keepLease(shardOf(workspace));
      await record(push, "keep", { ...deliveryOf(push, 1, "timeout"), event: ABOUT });
    }
    return results;
  };
  await sendAll([eventId], "ada");
  await clock.pass(1_000);
  await sendAll([eventId, `evt_${ulid(nowMs())}`], "bob");
  const { sentAgain } = await store.eventTraces.read(workspace.id, eventId);
  expect(sentAgain).toEqual([
    { atMs: nowMs() - 1, by: "ada" },
    { atMs: nowMs(), by: "bob" },
  ]);
  const again = keyOf(store, workspace.id, "again");
  expect(asNumber(await store.redis.command("", ["LLEN", again]))).toBe(2);
  const lines = Array.from({ length: SENT_AGAIN_MAX }, (_, i) => `${i} evt_${i} ada`);
  await store.redis.command("", ["RPUSH", again, ...lines]);
  await sendAll([eventId], "eve");
  expect(asNumber(await store.redis.command("", ["LLEN", again]))).toBe(SENT_AGAIN_MAX);
  const seconds = asNumber(await store.redis.command("", ["TTL", again]));
  expect(seconds).toBeGreaterThanOrEqual((7 * DAY_MS) / 1_000);
  await store.workspaces.delete(workspace);
  expect(await texts(store, "KEYS", `*${workspace.id}*`)).toEqual([]);
});

// This must be the last test: it opens another store, which loads the functions again, and the clock of those functions
// runs.
test("an event that is dropped before its first attempt has a summary too", async () => {
  const workspace = await addPushed();
  const { pushes } = await store.backlog.read(shardOf(workspace));
  const full = await openTestStore(store.redisUrl, { pushQueueMax: pushes });
  await full.outboundEvents.publish(eventOf(workspace, { expiresAtMs: 1_700_000_000_123 }));
  await full.close();
  const about = { ...ABOUT, expiresAtMs: 1_700_000_000_123 };
  expect(await logOf(workspace)).toMatchObject([{ result: "overloaded", event: about }]);

  const closing = await addPushed();
  const push = await queue(closing);
  await change(closing, { connected: false });
  expect(await record(push, "hold")).toBe("disconnected");
  expect(await logOf(closing)).toMatchObject([{ result: "disconnected", event: ABOUT }]);
});
