import { StoreFull } from "../../core/ports/store-faults";
import type { QueuedPush } from "../../core/ports/push-queue";
import { heldEvents } from "../harness/held-events";
import { deliveryOf, pushQueueOf, TOKEN } from "../harness/push-queue";
import { addWorkspace, prefixOf, testStore, texts } from "../harness/store";
import { until } from "../harness/wait";

const store = testStore();
const { addPushed, shardOf, keepLease, publish, queueOf, queue, record, logged, change } = pushQueueOf(store);
// Each test starts with empty queues.
beforeEach(() => store.redis.command("", ["FLUSHALL"]));

test("queued events are read in the order of publication, with the published bytes and sequence", async () => {
  const workspace = await addPushed();
  const fields = { push: "once", type: "message.update", expiresAtMs: 1_800_000_000_000 } as const;
  const first = await publish(workspace, "ä 🎲", fields);
  const second = await publish(workspace, "b", { push: "retried" });
  expect(await queueOf(workspace)).toEqual([
    expect.objectContaining({
      workspaceId: workspace.id,
      eventId: "evt_ä 🎲",
      messageId: "msg_ä 🎲",
      eventType: "message.update",
      expiresAtMs: 1_800_000_000_000,
      isRetried: false,
      attempts: 0,
      firstFailedAtMs: 0,
      envelope: Buffer.from(`{"label":"ä 🎲","sequence":${first},"z":1}`),
    }),
    expect.objectContaining({
      eventId: "evt_b",
      expiresAtMs: null,
      isRetried: true,
      envelope: Buffer.from(`{"label":"b","sequence":${second},"z":1}`),
    }),
  ]);
});

test("queued events are read with the current versions of their workspaces", async () => {
  const workspace = await addPushed();
  await publish(workspace, "a");
  await publish(workspace, "b");
  const versions = async () => {
    await keepLease(shardOf(workspace));
    const read = await store.pushQueue.read(TOKEN, shardOf(workspace), undefined, { events: 10, bytes: 1e6 });
    return [...(read?.versions ?? [])];
  };
  const versionOf = async () => (await store.workspaces.read(workspace.id))?.version;
  const created = await versionOf();
  expect(await versions()).toEqual([[workspace.id, created]]);
  await change(workspace, { name: "changed" });
  expect(await versionOf()).toBeGreaterThan(created ?? Infinity);
  expect(await versions()).toEqual([[workspace.id, await versionOf()]]);
  await store.workspaces.delete(workspace);
  expect(await versions()).toEqual([[workspace.id, 0]]);
});

test("a long queue is read in parts, each event once", async () => {
  const workspace = await addPushed();
  const labels = Array.from({ length: 250 }, (_, i) => String(i));
  await Promise.all(labels.map((label) => publish(workspace, label)));
  const read: QueuedPush[] = [];
  for (let part = await queueOf(workspace); part.length > 0;) {
    read.push(...part);
    part = await queueOf(workspace, read.at(-1)?.entryId);
  }
  expect(read.map(({ eventId }) => eventId)).toEqual(labels.map((label) => `evt_${label}`));
  const [first, second] = read.map(({ bytes }) => bytes);
  const countOf = async (bytes: number) =>
    (await queueOf(workspace, undefined, { events: 100, bytes })).length;
  const two = (first ?? 0) + (second ?? 0);
  expect([await countOf(two), await countOf(two - 1), await countOf(1)]).toEqual([2, 1, 1]);
});

test("the bytes of queued events are counted; if the count is lost, it is correct again once the queue has been empty", async () => {
  const workspace = await addPushed();
  const bytes = async () => (await store.backlog.read(shardOf(workspace))).pushBytes;
  const lose = () => store.redis.command("", ["DEL", `${prefixOf(store, workspace.id)}:pushbytes`]);
  const [a, b] = [await queue(workspace, "a"), await queue(workspace, "b")];
  expect(await bytes()).toBe(a.bytes + b.bytes);
  await record(a, { do: "retry", attempts: 1, firstFailedAtMs: 1 });
  expect(await bytes()).toBe(a.bytes + b.bytes);
  await record(a, "done");
  // Core repeats a call of `record` if the answer is lost.
  await record(a, "done");
  expect(await bytes()).toBe(b.bytes);
  await change(workspace, { targetUrl: "" });
  await record(b, "hold");
  expect(await bytes()).toBe(0);
  await change(workspace, { targetUrl: "https://bridge.example/" });
  const [c, d] = [await queue(workspace, "c"), await queue(workspace, "d")];
  await lose();
  await record(c, "done");
  expect(await bytes()).toBe(0);
  const e = await queue(workspace, "e");
  expect(await bytes()).toBe(e.bytes);
  for (const push of [d, e]) await record(push, "done");
  const last = await queue(workspace, "f");
  expect(await bytes()).toBe(last.bytes);
});

// contract: workspace-modes
test("events for a workspace without a target URL, and events that their publisher pushes directly, are not queued", async () => {
  const [pushed, polls] = [await addPushed(), (await addWorkspace(store)).workspace];
  await publish(pushed, "ping", { push: "direct" });
  await publish(polls, "held");
  expect([await queueOf(pushed), await queueOf(polls)]).toEqual([[], []]);
});

test("a new event wakes the listeners, which get the shard of the event", async () => {
  const workspace = await addPushed();
  const woken: number[] = [];
  const stop = store.pushQueue.onWake((shard) => woken.push(shard));
  await publish(workspace, "x");
  await until("the listener is woken", () => woken.length > 0);
  expect(woken).toEqual([shardOf(workspace)]);
  stop();
});

test("an event stays queued while it is retried; an attempt that is recorded twice is logged once", async () => {
  const workspace = await addPushed();
  const push = await queue(workspace, "x");
  for (const attempts of [1, 2]) {
    const next = { do: "retry", attempts, firstFailedAtMs: 1_799_999_999_999 } as const;
    const failure = deliveryOf(push, attempts, "timeout");
    for (const _ of [1, 2]) expect(await record(push, next, failure)).toBe("recorded");
    expect(await queueOf(workspace)).toEqual([{ ...push, attempts, firstFailedAtMs: 1_799_999_999_999 }]);
  }
  const success = deliveryOf(push, 3, "success");
  for (const _ of [1, 2]) expect(await record(push, "done", success)).toBe("recorded");
  expect(await queueOf(workspace)).toEqual([]);
  expect(await logged(workspace)).toEqual(["evt_x 3 success", "evt_x 2 timeout", "evt_x 1 timeout"]);
  expect(await store.deliveryLog.read(workspace.id, 1, undefined)).toMatchObject([success]);
  expect(await texts(store, "KEYS", `${prefixOf(store, workspace.id)}:tries`)).toEqual([]);
});

test("a core without the lease cannot read the queue or record outcomes; in a batch, only outcomes from the lease's holder are recorded", async () => {
  const workspace = await addPushed();
  const [a, b] = [await queue(workspace, "a"), await queue(workspace, "b")];
  const most = { events: 1, bytes: 1 };
  expect(await store.pushQueue.read("another's", shardOf(workspace), undefined, most)).toBeUndefined();
  const retry = { do: "retry", attempts: 1, firstFailedAtMs: 1 } as const;
  const others = (["done", "hold", retry] as const).map(
    (next) => () => record(b, next, deliveryOf(b, 1, "success"), { token: "another's" }),
  );
  for (const other of others) expect(await other()).toBe("lost");
  const together = await Promise.all([() => record(a, "done"), ...others].map((each) => each()));
  expect(together).toEqual(["recorded", "lost", "lost", "lost"]);
  expect(await queueOf(workspace)).toEqual([b]);
  expect(await logged(workspace)).toEqual([]);
});

describe("an event that is queued when the target URL is cleared", () => {
  const update = { type: "message.update" } as const;

  test("a queued event is held with the same content, under a new and higher sequence", async () => {
    const workspace = await addPushed();
    const push = await queue(workspace, "queued");
    await change(workspace, { targetUrl: "" });
    const sequence = await publish(workspace, "held at once");
    expect(await record(push, "hold")).toBe("recorded");
    expect(await queueOf(workspace)).toEqual([]);
    const held = await heldEvents<{ label: string; sequence: number }>(store, workspace.id);
    expect(held).toMatchObject([{ label: "held at once", sequence }, { label: "queued" }]);
    expect(held[1]?.sequence).toBeGreaterThan(sequence);
    expect(await logged(workspace)).toEqual([]);
  });

  test("queued events, even updates, are held in the order of the queue, unless a different event was held in the meantime", async () => {
    const workspace = await addPushed();
    const labels = ["card", "question", "answer"];
    const queued = [];
    for (const label of labels) queued.push(await queue(workspace, label, label === "card" ? {} : update));
    await change(workspace, { targetUrl: "" });
    for (const push of queued) expect(await record(push, "hold")).toBe("recorded");
    expect(await heldEvents(store, workspace.id)).toMatchObject(labels.map((label) => ({ label })));
  });

  test("a queued update is dropped and logged if it could undo a later event that is already held", async () => {
    const workspace = await addPushed();
    const [create, old] = [await queue(workspace, "card"), await queue(workspace, "question", update)];
    await change(workspace, { targetUrl: "" });
    await publish(workspace, "final board");
    expect([await record(create, "hold"), await record(old, "hold")]).toEqual(["recorded", "polls"]);
    const held = ["final board", "card"].map((label) => ({ label }));
    expect(await heldEvents(store, workspace.id)).toMatchObject(held);
    expect(await logged(workspace)).toEqual(["evt_question 0 polls"]);
    expect(await queueOf(workspace)).toEqual([]);
  });

  test("a queued event is dropped and logged if the workspace is disconnected before the event is held", async () => {
    const workspace = await addPushed();
    const old = await queue(workspace, "a", update);
    await change(workspace, { targetUrl: "", connected: false });
    expect(await record(old, "hold")).toBe("disconnected");
    // Core repeats a call of `record` if the answer is lost.
    expect(await record(old, "hold")).toBe("recorded");
    expect(await logged(workspace)).toEqual(["evt_a 0 disconnected"]);
    expect(await queueOf(workspace)).toEqual([]);
  });

  test("a queued event stays queued if the workspace has a target URL again", async () => {
    const workspace = await addPushed();
    const push = await queue(workspace, "x");
    expect(await record(push, "hold")).toBe("pushed");
    expect(await queueOf(workspace)).toEqual([push]);
  });
});

test("nothing is queued or logged for a deleted workspace", async () => {
  const workspace = await addPushed();
  const [a, b] = [await queue(workspace, "a"), await queue(workspace, "b")];
  await store.workspaces.delete(workspace);
  expect(await record(a, "hold")).toBe("disconnected");
  await record(b, "done", deliveryOf(b, 0, "disconnected"));
  await store.deliveryLog.append(workspace.id, deliveryOf(b, 1, "success"));
  expect(await queueOf(workspace)).toEqual([]);
  expect(await texts(store, "KEYS", `*${workspace.id}*`)).toEqual([]);
});

test("when Redis is out of memory, new events are rejected, but lease calls and calls that complete or remove data succeed", async () => {
  const workspace = await addPushed();
  const push = await queue(workspace, "stuck");
  const shard = shardOf(workspace);
  const member = { group: "g", name: "c", token: "t" };
  await store.redis.command("", ["CONFIG", "SET", "maxmemory", "1000000"]);
  try {
    await expect(publish(workspace, "more")).rejects.toBeInstanceOf(StoreFull);
    expect(await keepLease(shard)).toBe(true);
    expect(await store.leases.join(member, true)).toMatchObject({ names: ["c"] });
    expect(await queueOf(workspace)).toEqual([push]);
    expect(await record(push, "keep", deliveryOf(push, 1, "timeout"))).toBe("recorded");
    await store.followLog.ack("g", shard, ["1-0"]);
    await store.pollWatch.findFailing(shard);
    await store.pollWatch.removeMail(shard, "1-0");
    await store.leases.leave(member);
    expect(await store.workspaces.delete(workspace)).toBe(true);
    await store.leases.drop({ ...member, group: "!cores", token: TOKEN }, shard);
  } finally {
    await store.redis.command("", ["CONFIG", "SET", "maxmemory", "0"]);
  }
});
