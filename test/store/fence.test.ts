import { randomUUID } from "node:crypto";
import type { Fence } from "../../core/ports/outbound-events";
import type { Member } from "../../core/ports/leases";
import { addWorkspace, inbound, publication, testStore } from "../harness/store";

const store = testStore();
let count = 0;

/**
 * Starts a stream that holds the lease of a new workspace's shard, and that has received one delivery but not acked it.
 */
async function startDelivery() {
  const group = `fence-${++count}`;
  const record = await addWorkspace(store);
  const { id } = record.workspace;
  const shard = store.keys.shard(id);
  const log = store.followLog;
  await log.open(group);
  await store.inboundLog.append(inbound(record, `event-${count}`));
  const stream: Member = { group, name: "a", token: randomUUID() };
  await hold(stream, shard);
  const entryId = (await log.readNew(stream, shard, 10))?.entries[0]?.entryId ?? "";
  const fence = (attempt: number): Fence => ({ group, token: stream.token, delivery: { entryId, attempt } });
  const publish = async (of: Fence | undefined, idempotencyKey = "") => {
    const fields = { fence: of, idempotencyKey };
    return (await store.outboundEvents.publish(publication(id, ++count, fields))).outcome;
  };
  return { stream, shard, entryId, fence, publish, timer: { ...fence(1), delivery: undefined } };
}

/** Acquires a lease, and makes it permanent, so that it does not expire on a slow machine. */
async function hold(stream: Member, shard: number): Promise<void> {
  expect(await store.followLog.take(stream, shard)).toBe(true);
  const key = `${store.keys.prefix(shard)}:lease:${stream.group}`;
  await store.redis.command(key, ["PERSIST", key]);
}

test("a stream that holds the lease of the shard can publish until another stream acquires the lease", async () => {
  const { stream, shard, fence, timer, publish } = await startDelivery();
  expect([await publish(fence(1)), await publish(timer)]).toEqual(["published", "published"]);
  await store.followLog.drop(stream, shard);
  expect([await publish(fence(1)), await publish(timer)]).toEqual(["stale", "stale"]);
  await hold({ ...stream, name: "b", token: randomUUID() }, shard);
  expect([await publish(fence(1)), await publish(timer)]).toEqual(["stale", "stale"]);
  expect(await publish(undefined)).toBe("published");
});

test("after a redelivery, only the new attempt can publish", async () => {
  const { stream, shard, entryId, fence, publish } = await startDelivery();
  await store.followLog.readEntries(stream, shard, [entryId]);
  expect([await publish(fence(1)), await publish(fence(2))]).toEqual(["stale", "published"]);
});

test("after the ack, the delivery is stale, but the stream is not", async () => {
  const { stream, shard, entryId, fence, timer, publish } = await startDelivery();
  const log = `${store.keys.prefix(shard)}:in`;
  await store.redis.command(log, ["XACK", log, stream.group, entryId]);
  expect([await publish(fence(1)), await publish(timer)]).toEqual(["stale", "published"]);
});

test("after its group is removed, a delivery is stale", async () => {
  const { stream, shard, fence, publish } = await startDelivery();
  const log = `${store.keys.prefix(shard)}:in`;
  await store.redis.command(log, ["XGROUP", "DESTROY", log, stream.group]);
  expect(await publish(fence(1))).toBe("stale");
});

test("a repeated idempotency key returns the first result, and the key of a stale event is not stored", async () => {
  const { stream, shard, fence, publish } = await startDelivery();
  expect(await publish(fence(1), "first")).toBe("published");
  await store.followLog.drop(stream, shard);
  expect([await publish(fence(1), "first"), await publish(fence(1), "second")]).toEqual([
    "repeated",
    "stale",
  ]);
  expect(await publish(undefined, "second")).toBe("published");
});
