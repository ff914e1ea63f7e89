import { deliveryOf, pushQueueOf } from "../harness/push-queue";
import { addWorkspace, openTestStore, publication, testStore, texts } from "../harness/store";
import { until } from "../harness/wait";

const store = testStore();
const { addPushed, shardOf, publish, queueOf, queue, record, logged, change, fail, failedOf, sendAgain } =
  pushQueueOf(store);

test("an event whose push failed is kept until it is sent again; it is then queued with the same bytes and no attempts", async () => {
  const workspace = await addPushed();
  const push = await queue(workspace, "ä 🎲", { expiresAtMs: Date.now() + 60_000, push: "retried" });
  await record(push, { do: "retry", attempts: 1, firstFailedAtMs: 1 }, deliveryOf(push, 1, "timeout"));
  expect(await failedOf(workspace)).toEqual([]);
  // Core repeats a call of `record` if the answer is lost.
  for (const _ of [1, 2]) expect(await record(push, "keep", deliveryOf(push, 2, "status"))).toBe("recorded");
  expect(await logged(workspace)).toHaveLength(2);
  expect(await queueOf(workspace)).toEqual([]);
  expect(await store.failedEvents.list(workspace.id)).toEqual([
    {
      eventId: push.eventId,
      eventType: push.eventType,
      failedAtMs: expect.any(Number) as number,
      expiresAtMs: push.expiresAtMs,
    },
  ]);
  const other = await queue(workspace, "other");
  const woken: number[] = [];
  const stop = store.pushQueue.onWake((shard) => woken.push(shard));
  expect(await sendAgain(workspace, "ä 🎲")).toEqual(["queued"]);
  await until("the dispatcher is woken", () => woken.includes(shardOf(workspace)));
  stop();
  const { entryId: _first, ...rest } = push;
  expect(await queueOf(workspace)).toEqual([
    other,
    { ...rest, entryId: expect.any(String) as string, attempts: 0 },
  ]);
  expect(await failedOf(workspace)).toEqual([]);
  const { pushBytes } = await store.backlog.read(shardOf(workspace));
  expect(pushBytes).toBe(other.bytes + push.bytes);
});

test("an event that was delivered, or whose workspace has changed to polling, is not kept", async () => {
  const workspace = await addPushed();
  const pushes = [
    await queue(workspace, "a"),
    await queue(workspace, "b"),
    await queue(workspace, "c"),
  ] as const;
  await record(pushes[0], "done", deliveryOf(pushes[0], 1, "success"));
  await change(workspace, { targetUrl: "" });
  await record(pushes[1], "hold");
  await record(pushes[2], "done", deliveryOf(pushes[2], 1, "polls"));
  expect(await failedOf(workspace)).toEqual([]);
  expect(await texts(store, "KEYS", `*failed*${workspace.id}*`)).toEqual([]);
});

test("an event that is dropped because the push queue is full is kept, and can be sent again when there is room", async () => {
  const workspace = await addPushed();
  const waiting = await queue(workspace, "waiting");
  // Earlier tests may have left events in the queue of the same shard.
  const { pushes } = await store.backlog.read(shardOf(workspace));
  const full = await openTestStore(store.redisUrl, { pushQueueMax: pushes });
  const envelope = { beforeSequence: '{"sequence":', afterSequence: ',"late":1}' };
  const dropped = publication(workspace.id, "dropped", { envelope });
  await full.outboundEvents.publish(dropped);
  expect(await logged(workspace)).toEqual(["evt_dropped 0 overloaded"]);
  expect(await failedOf(workspace)).toEqual(["evt_dropped"]);
  expect(await full.failedEvents.sendAgain(workspace.id, ["evt_dropped"], "ada")).toEqual(["overloaded"]);
  expect(await failedOf(workspace)).toEqual(["evt_dropped"]);
  await record(waiting, "done");
  expect(await full.failedEvents.sendAgain(workspace.id, ["evt_dropped"], "ada")).toEqual(["queued"]);
  const [queued] = await queueOf(workspace);
  expect(JSON.parse(String(queued?.envelope))).toMatchObject({ late: 1 });
  await full.close();
});

// time: controlled
// time: ordering
test("an event that is sent again by many calls at the same time is queued once", async () => {
  const workspace = await addPushed();
  const labels = ["a", "b", "c"];
  for (const label of labels) await fail(workspace, label);
  const other = await openTestStore(store.redisUrl);
  const calls = Array.from({ length: 20 }, (_, i) =>
    (i % 2 === 0 ? store : other).failedEvents.sendAgain(
      workspace.id,
      labels.map((label) => `evt_${label}`),
      "ada",
    ),
  );
  const results = (await Promise.all(calls)).flatMap((each) => each ?? []);
  expect(results.filter((result) => result === "queued")).toHaveLength(3);
  expect(results.filter((result) => result === "not-kept")).toHaveLength(57);
  expect((await queueOf(workspace)).map(({ eventId }) => eventId)).toEqual(["evt_a", "evt_b", "evt_c"]);
  await other.close();
});

test("nothing is sent again while the workspace is not a push workspace, but the events are still kept", async () => {
  const workspace = await addPushed();
  await fail(workspace, "x");
  for (const fields of [{ targetUrl: "" }, { targetUrl: workspace.targetUrl, connected: false }]) {
    await change(workspace, fields);
    expect(await sendAgain(workspace, "x")).toBeUndefined();
  }
  await change(workspace, { connected: true });
  expect(await sendAgain(workspace, "x")).toEqual(["queued"]);
});

// time: controlled
test("when a workspace is deleted, its failed events and responses are deleted, and later failures store nothing", async () => {
  const workspace = await addPushed();
  await fail(workspace, "a");
  const [b, c] = [await queue(workspace, "b"), await queue(workspace, "c")];
  const response = { bytes: Buffer.from("no"), isTruncated: false };
  await record(b, "keep", deliveryOf(b, 1, "status"), { response });
  expect(await failedOf(workspace)).toHaveLength(2);
  await store.workspaces.delete(workspace);
  expect(await record(c, "keep", deliveryOf(c, 1, "status"), { response })).toBe("recorded");
  expect(await texts(store, "KEYS", `*${workspace.id}*`)).toEqual([]);
});

test("no event is kept if the core that records its failure has lost the lease, or if its workspace polls", async () => {
  const workspace = await addPushed();
  const push = await queue(workspace, "x");
  expect(await record(push, "keep", deliveryOf(push, 1, "timeout"), { token: "another's" })).toBe("lost");
  const polls = (await addWorkspace(store)).workspace;
  await publish(polls, "held");
  expect([await failedOf(workspace), await failedOf(polls)]).toEqual([[], []]);
  expect(await queueOf(workspace)).toEqual([push]);
});

test("a core that is set to less Redis memory keeps fewer failed events per shard, but uses the same functions as other cores", async () => {
  const small = await openTestStore(store.redisUrl, { redisMemoryBytes: 16 * 1024 * 1024 });
  try {
    const envelope = { beforeSequence: `{"x":"${"x".repeat(60_000)}","sequence":`, afterSequence: "}" };
    const ofSmall = pushQueueOf(small);
    const workspace = await ofSmall.addPushed();
    // A shard of this core gets 128 KB for its failed events; a shard of the other core gets 64 MB.
    for (const label of ["a", "b", "c"]) await ofSmall.fail(workspace, label, { envelope });
    expect(await failedOf(workspace)).toEqual(["evt_c", "evt_b"]);
    await fail(workspace, "d", { envelope });
    expect(await failedOf(workspace)).toEqual(["evt_d", "evt_c", "evt_b"]);
    expect(await store.redis.command("", ["FUNCTION", "LIST"])).toHaveLength(1);
  } finally {
    await small.close();
  }
});
