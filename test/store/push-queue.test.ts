import type { Delivery } from "../../core/domain/delivery";
import type { Workspace } from "../../core/domain/workspace";
import type { PushRecord, QueuedPush } from "../../core/ports/push-queue";
import { heldEvents } from "../harness/held-events";
import { startTestRedis, type TestRedis } from "../harness/redis";
import {
  addWorkspace,
  newWorkspace,
  openTestStore,
  publication,
  texts,
  type TestStore,
} from "../harness/store";
import { until } from "../harness/wait";

const URL = "https://bridge.example/events";
const TOKEN = "a token";

let redis: TestRedis;
let store: TestStore;
beforeAll(async () => {
  // Many writes, one after the other: how long the disk takes over each is nothing to what is tested.
  redis = await startTestRedis(["--appendfsync", "no"]);
  store = await openTestStore(redis.url);
});
afterAll(async () => {
  await store.close();
  await redis.close();
});
// Each test has the queues for itself, and the lease of every shard.
beforeEach(async () => {
  await store.redis.command("", ["FLUSHALL"]);
  for (let shard = 0; shard < 16; shard++) await take(shard, TOKEN);
});

const take = (shard: number, token: string) =>
  store.leases.take({ group: "!cores", name: token, token }, shard);
/** A publication whose sequence is followed by something, as it is in an envelope. */
const rendered = (id: string, label: string, fields: Parameters<typeof publication>[2]) =>
  publication(id, label, {
    envelope: { beforeSequence: `{"label":"${label}","sequence":`, afterSequence: ',"sequence_is":1}' },
    ...fields,
  });
const shardOf = ({ id }: Workspace): number => store.keys.shard(id);
const addPushed = async (fields: Partial<Workspace> = {}): Promise<Workspace> =>
  (await addWorkspace(store, { targetUrl: URL, ...fields })).workspace;
const publishAll = (id: string, ...labels: readonly string[]) =>
  Promise.all(labels.map((label) => store.outboundEvents.publish(rendered(id, label, { push: "retried" }))));

async function queueOf(workspace: Workspace, after?: string): Promise<readonly QueuedPush[]> {
  // Kept, as whoever works on a shard keeps it.
  await take(shardOf(workspace), TOKEN);
  const read = await store.pushQueue.read(TOKEN, shardOf(workspace), after, 100);
  if (read === undefined) throw new Error("the lease is lost");
  return read;
}

async function onlyPush(workspace: Workspace): Promise<QueuedPush> {
  const [push, ...more] = await queueOf(workspace);
  if (push === undefined || more.length > 0) throw new Error("not just one is queued");
  return push;
}

const deliveryOf = (push: QueuedPush, attempt: number, result: Delivery["result"]): Delivery => ({
  eventId: push.eventId,
  eventType: push.eventType,
  attempt,
  result,
  status: result === "success" ? 204 : undefined,
  latencyMs: 12,
  address: "127.0.0.1",
});
const record = (workspace: Workspace, item: PushRecord, token = TOKEN) =>
  store.pushQueue.record(token, shardOf(workspace), item);
const logOf = ({ id }: Workspace) => store.deliveryLog.read(id, 100, undefined);

async function setUrl(workspace: Workspace, targetUrl: string): Promise<void> {
  const current = await store.workspaces.read(workspace.id);
  if (current === undefined) throw new Error("no such workspace");
  expect(await store.workspaces.replace({ ...current.workspace, targetUrl }, current.version)).toBe(true);
}

test("events are read in the order of publication, as they were rendered, with their sequence", async () => {
  const workspace = await addPushed();
  const fields = { push: "once", type: "message.update", expiresAtMs: 1_800_000_000_000 } as const;
  const first = await store.outboundEvents.publish(rendered(workspace.id, "ä 🎲", fields));
  const [second] = await publishAll(workspace.id, "b");
  const queue = await queueOf(workspace);
  const sequences = [first, second].map((each) => (each?.outcome === "published" ? each.sequence : 0));
  expect(queue).toEqual([
    expect.objectContaining({
      workspaceId: workspace.id,
      eventId: "evt_ä 🎲",
      messageId: "msg_ä 🎲",
      eventType: "message.update",
      expiresAtMs: 1_800_000_000_000,
      isRetried: false,
      attempts: 0,
      firstFailedAtMs: 0,
      envelope: Buffer.from(`{"label":"ä 🎲","sequence":${sequences[0]},"sequence_is":1}`),
    }),
    expect.objectContaining({
      eventId: "evt_b",
      expiresAtMs: null,
      isRetried: true,
      envelope: Buffer.from(`{"label":"b","sequence":${sequences[1]},"sequence_is":1}`),
    }),
  ]);
});

test("a long queue is read in parts, each event once", async () => {
  const workspace = await addPushed();
  const labels = Array.from({ length: 450 }, (_, i) => String(i));
  await publishAll(workspace.id, ...labels);
  const read: QueuedPush[] = [];
  for (
    let part = await queueOf(workspace);
    part.length > 0;
    part = await queueOf(workspace, read.at(-1)?.entryId)
  ) {
    read.push(...part);
  }
  expect(read.map(({ eventId }) => eventId)).toEqual(labels.map((label) => `evt_${label}`));
});

// contract: workspace-modes
test("what a poll workspace is sent, and what its caller pushes, is not queued", async () => {
  const [pushed, polls] = [await addPushed(), (await addWorkspace(store)).workspace];
  await store.outboundEvents.publish(publication(pushed.id, "ping", { push: "direct" }));
  await publishAll(polls.id, "held");
  expect([await queueOf(pushed), await queueOf(polls)]).toEqual([[], []]);
});

test("listeners are woken with the shard that has something new", async () => {
  const workspace = await addPushed();
  const woken: number[] = [];
  const stop = store.pushQueue.onWake((shard) => woken.push(shard));
  await publishAll(workspace.id, "x");
  await until("woken", () => woken.length > 0);
  expect(woken).toEqual([shardOf(workspace)]);
  stop();
});

test("an event that is done leaves the queue, with a line in the log", async () => {
  const workspace = await addPushed();
  await publishAll(workspace.id, "x");
  const push = await onlyPush(workspace);
  const delivery = deliveryOf(push, 1, "success");
  expect(await record(workspace, { push, delivery, next: { do: "done" } })).toBe("recorded");
  expect(await queueOf(workspace)).toEqual([]);
  expect(await logOf(workspace)).toMatchObject([delivery]);
});

test("an event that is to be retried stays, with what was done, until it is done with", async () => {
  const workspace = await addPushed();
  await publishAll(workspace.id, "x");
  const push = await onlyPush(workspace);
  const retry = (attempts: number): PushRecord => ({
    push,
    delivery: deliveryOf(push, attempts, "timeout"),
    next: { do: "retry", attempts, firstFailedAtMs: 1_799_999_999_999 },
  });
  await record(workspace, retry(1));
  expect(await onlyPush(workspace)).toEqual({ ...push, attempts: 1, firstFailedAtMs: 1_799_999_999_999 });
  await record(workspace, retry(2));
  expect(await onlyPush(workspace)).toEqual({ ...push, attempts: 2, firstFailedAtMs: 1_799_999_999_999 });
  await record(workspace, { push, delivery: deliveryOf(push, 3, "status"), next: { do: "done" } });
  expect(await queueOf(workspace)).toEqual([]);
  expect((await logOf(workspace)).map(({ attempt }) => attempt)).toEqual([3, 2, 1]);
  expect(await texts(store, "KEYS", "*:tries")).toEqual([]);
});

test("without the lease nothing is read and nothing recorded", async () => {
  const workspace = await addPushed();
  await publishAll(workspace.id, "x");
  const push = await onlyPush(workspace);
  expect(await store.pushQueue.read("another's", shardOf(workspace), undefined, 100)).toBeUndefined();
  const delivery = deliveryOf(push, 1, "success");
  for (const next of [
    { do: "done" },
    { do: "hold" },
    { do: "retry", attempts: 1, firstFailedAtMs: 1 },
  ] as const) {
    expect(await record(workspace, { push, delivery, next }, "another's")).toBe("lost");
  }
  expect(await onlyPush(workspace)).toEqual(push);
  expect(await logOf(workspace)).toEqual([]);
});

test("records made together are judged each by its own lease", async () => {
  const workspace = await addPushed();
  await publishAll(workspace.id, "a", "b");
  const [a, b] = await queueOf(workspace);
  if (a === undefined || b === undefined) throw new Error("two were published");
  const done = (push: QueuedPush): PushRecord => ({ push, delivery: undefined, next: { do: "done" } });
  expect(
    await Promise.all([
      record(workspace, done(a)),
      record(workspace, done(b), "another's"),
      record(workspace, done(b)),
    ]),
  ).toEqual(["recorded", "lost", expect.stringMatching(/recorded|lost/)]);
  expect((await queueOf(workspace)).map(({ eventId }) => eventId)).not.toContain("evt_a");
});

describe("an event that was not tried before its workspace polled", () => {
  test("is held under a new sequence, with the same id", async () => {
    const workspace = await addPushed();
    await publishAll(workspace.id, "queued");
    const push = await onlyPush(workspace);
    await setUrl(workspace, "");
    const [held] = await publishAll(workspace.id, "held at once");
    expect(await record(workspace, { push, delivery: undefined, next: { do: "hold" } })).toBe("recorded");
    expect(await queueOf(workspace)).toEqual([]);
    const envelopes = await heldEvents<{ label: string; sequence: number }>(store, workspace.id);
    expect(envelopes.map(({ label }) => label)).toEqual(["held at once", "queued"]);
    expect(envelopes[0]?.sequence).toBe(held?.outcome === "published" ? held.sequence : 0);
    expect(envelopes[1]?.sequence).toBeGreaterThan(envelopes[0]?.sequence ?? Infinity);
    expect(await logOf(workspace)).toEqual([]);
  });

  test("stays queued when the workspace is pushed to again", async () => {
    const workspace = await addPushed();
    await publishAll(workspace.id, "x");
    const push = await onlyPush(workspace);
    expect(await record(workspace, { push, delivery: undefined, next: { do: "hold" } })).toBe("pushed");
    expect(await onlyPush(workspace)).toEqual(push);
  });

  test("leaves the queue when the workspace is gone by then", async () => {
    const workspace = await addPushed();
    await publishAll(workspace.id, "x");
    const push = await onlyPush(workspace);
    await store.workspaces.delete(newWorkspace(workspace));
    expect(await record(workspace, { push, delivery: undefined, next: { do: "hold" } })).toBe("recorded");
    expect(await queueOf(workspace)).toEqual([]);
    expect(await texts(store, "KEYS", `*${workspace.id}*`)).toEqual([]);
  });
});

test("of a workspace that is gone nothing is logged", async () => {
  const workspace = await addPushed();
  await publishAll(workspace.id, "x");
  const push = await onlyPush(workspace);
  await store.workspaces.delete(workspace);
  await record(workspace, { push, delivery: deliveryOf(push, 0, "disconnected"), next: { do: "done" } });
  await store.deliveryLog.append(workspace.id, deliveryOf(push, 1, "success"));
  expect(await texts(store, "KEYS", `*${workspace.id}*`)).toEqual([]);
});
