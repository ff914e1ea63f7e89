import type { Delivery } from "../../core/domain/delivery";
import type { OutboundType } from "../../core/domain/outbound-event";
import type { WorkspaceRecord } from "../../core/ports/workspaces";
import type { PushRecord, QueuedPush, Recorded } from "../../core/ports/push-queue";
import { heldEvents } from "../harness/held-events";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { addWorkspace, openTestStore, publication, type TestStore } from "../harness/store";

const TOKEN = "a token";

let redis: TestRedis;
let store: TestStore;
let pushed: WorkspaceRecord;
beforeAll(async () => {
  // Many writes, one after the other: how long the disk takes over each is nothing to what is tested.
  redis = await startTestRedis(["--appendfsync", "no"]);
  store = await openTestStore(redis.url);
});
afterAll(async () => {
  await store.close();
  await redis.close();
});
beforeEach(async () => {
  pushed = await addWorkspace(store, { targetUrl: "https://bridge.example/" });
});

const shard = (): number => store.keys.shard(pushed.workspace.id);
/** Takes the lease of the shard, or keeps it, as whoever works on it does. */
const keepLease = () => store.leases.take({ group: "!cores", name: TOKEN, token: TOKEN }, shard());

async function readQueue(): Promise<readonly QueuedPush[] | undefined> {
  await keepLease();
  return store.pushQueue.read(TOKEN, shard(), undefined, 100);
}

/** Queues an event, and reads it as the holder of the shard does. */
async function queue(label: string, type: OutboundType = "message.create"): Promise<QueuedPush> {
  const { id } = pushed.workspace;
  const envelope = { beforeSequence: `{"label":"${label}","sequence":`, afterSequence: ',"z":1}' };
  await store.outboundEvents.publish(publication(id, label, { type, messageId: "msg_1", envelope }));
  const queued = await readQueue();
  const push = queued?.find(({ eventId }) => eventId === `evt_${label}`);
  if (push === undefined) throw new Error("it is not queued");
  return push;
}

async function record(item: PushRecord): Promise<Recorded> {
  await keepLease();
  return store.pushQueue.record(TOKEN, shard(), item);
}

async function logged(): Promise<readonly (readonly unknown[])[]> {
  const deliveries = await store.deliveryLog.read(pushed.workspace.id, 10, undefined);
  return deliveries.map(({ eventId, attempt, result }) => [eventId, attempt, result]);
}

describe("what is recorded again, as its answer was lost, is logged once:", () => {
  const delivery = (push: QueuedPush, attempt: number): Delivery => ({
    eventId: push.eventId,
    eventType: push.eventType,
    attempt,
    result: "status",
    status: 500,
    latencyMs: 1,
    address: undefined,
  });

  test("an event that is done", async () => {
    const push = await queue("a");
    const done: PushRecord = { push, delivery: delivery(push, 1), next: { do: "done" } };
    expect([await record(done), await record(done)]).toEqual(["recorded", "recorded"]);
    expect(await logged()).toEqual([["evt_a", 1, "status"]]);
  });

  test("an attempt that is to be repeated, and the one after it", async () => {
    const push = await queue("b");
    for (const attempts of [1, 2]) {
      const next = { do: "retry", attempts, firstFailedAtMs: 5 } as const;
      const retry: PushRecord = { push, delivery: delivery(push, attempts), next };
      expect([await record(retry), await record(retry)]).toEqual(["recorded", "recorded"]);
    }
    expect(await logged()).toEqual([
      ["evt_b", 2, "status"],
      ["evt_b", 1, "status"],
    ]);
  });
});

describe("an update that was queued when its workspace turned to polling", () => {
  async function turnToPolling(): Promise<void> {
    const { workspace, version } = pushed;
    expect(await store.workspaces.replace({ ...workspace, targetUrl: "" }, version)).toBe(true);
  }
  const hold = (push: QueuedPush): Promise<Recorded> =>
    record({ push, delivery: undefined, next: { do: "hold" } });
  const held = async (): Promise<readonly string[]> =>
    (await heldEvents<{ label: string }>(store, pushed.workspace.id)).map(({ label }) => label);

  test("is held when nothing was held since", async () => {
    const push = await queue("only", "message.update");
    await turnToPolling();
    expect(await hold(push)).toBe("recorded");
    expect(await held()).toEqual(["only"]);
  });

  test("is held with what was queued before it", async () => {
    const queued = [
      await queue("card"),
      await queue("question", "message.update"),
      await queue("answer", "message.update"),
    ];
    await turnToPolling();
    for (const push of queued) expect(await hold(push)).toBe("recorded");
    expect(await held()).toEqual(["card", "question", "answer"]);
  });

  test("is given up behind what was published since, also when more of the queue is held by then", async () => {
    const [create, update] = [await queue("card"), await queue("question", "message.update")];
    await turnToPolling();
    await store.outboundEvents.publish(publication(pushed.workspace.id, "final board"));
    expect([await hold(create), await hold(update)]).toEqual(["recorded", "dropped"]);
    expect(await held()).toEqual(["final board", "card"]);
  });

  test("is given up, and logged so, when a later one may be held: it would undo it", async () => {
    const push = await queue("question", "message.update");
    await turnToPolling();
    await store.outboundEvents.publish(publication(pushed.workspace.id, "final board"));
    expect(await hold(push)).toBe("dropped");
    expect(await held()).toEqual(["final board"]);
    expect(await logged()).toEqual([["evt_question", 0, "polls"]]);
    expect(await readQueue()).not.toContainEqual(push);
  });

  test("a create is held all the same", async () => {
    const push = await queue("a create");
    await turnToPolling();
    await store.outboundEvents.publish(publication(pushed.workspace.id, "another"));
    expect(await hold(push)).toBe("recorded");
    expect(await held()).toEqual(["another", "a create"]);
  });
});

test("when the memory is full, what is stored is refused, and all that ends or frees something goes on", async () => {
  const push = await queue("stuck");
  const member = { group: "g", name: "c", token: "t" };
  await store.redis.command("", ["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
  await store.redis.command("", ["CONFIG", "SET", "maxmemory", "1000000"]);
  try {
    const { id } = pushed.workspace;
    await expect(store.outboundEvents.publish(publication(id, "more"))).rejects.toThrow("out of reach");
    expect(await keepLease()).toBe(true);
    expect(await store.leases.join(member, true)).toEqual(["c"]);
    expect(await readQueue()).toContainEqual(push);
    expect(await record({ push, delivery: undefined, next: { do: "done" } })).toBe("recorded");
    await store.followLog.ack("g", shard(), ["1-0"]);
    await store.pollWatch.findFailing(shard());
    await store.pollWatch.removeMail(shard(), "1-0");
    await store.leases.leave(member);
    expect(await store.workspaces.delete(pushed.workspace)).toBe(true);
    await store.leases.drop({ ...member, group: "!cores", token: TOKEN }, shard());
  } finally {
    await store.redis.command("", ["CONFIG", "SET", "maxmemory", "0"]);
  }
});
