import type { QueuePosition } from "../../core/ports/push-handoff";
import type { QueuedPush, QueueRead } from "../../core/ports/push-queue";
import { pushQueueOf, TOKEN } from "../harness/push-queue";
import { createKeys } from "../../core/store/keys";
import { createOutboundEvents } from "../../core/store/outbound-events";
import { StoreUnavailable } from "../../core/ports/store-faults";
import { addWorkspace, publication, testStore } from "../harness/store";

const store = testStore();
const { addPushed, shardOf, keepLease, queueOf } = pushQueueOf(store);
beforeEach(() => store.redis.command("", ["FLUSHALL"]));

/**
 * Adds a taker of the push queue of a workspace's shard, whose position is `position()`. Returns the events that it
 * takes.
 */
function takeAt(workspace: { readonly id: string }, position: () => QueuePosition | undefined) {
  const taken: QueueRead[] = [];
  const remove = store.pushHandoff.add(shardOf(workspace), {
    position,
    take(from, read) {
      expect(from).toEqual(position());
      taken.push(read);
    },
    look: () => {},
  });
  return { taken, remove };
}

const event = (id: string, label: string, fields: Parameters<typeof publication>[2] = {}) =>
  publication(id, label, {
    envelope: { beforeSequence: `{"label":"ä 🎲 ${label}","sequence":`, afterSequence: ',"z":1}' },
    publisher: "game",
    ...fields,
  });

/** Publishes two events. Returns the number of wakes that Redis then sent for the shard's push queue. */
async function publishTwo(id: string): Promise<number> {
  let wakes = 0;
  const stop = store.pushQueue.onWake((shard) => (wakes += shard === shardOf({ id }) ? 1 : 0));
  await store.outboundEvents.publishAll([
    event(id, "a"),
    event(id, "b", { expiresAtMs: 1_800_000_000_000, push: "once", traceparent: "00-a-b-01" }),
  ]);
  // Wakes arrive over another connection. Redis sends them before it answers this call.
  await store.redis.command("", ["PING"]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  stop();
  return wakes;
}

/** Returns the events in a form that `toEqual` compares byte for byte. */
const plain = (pushes: readonly QueuedPush[]) => pushes.map((push) => ({ ...push }));

test("a core that has read the whole push queue takes the events that it publishes, in the form in which a read returns them", async () => {
  const workspace = await addPushed();
  const { taken } = takeAt(workspace, () => ({ token: TOKEN, after: undefined }));
  await keepLease(shardOf(workspace));
  expect(await publishTwo(workspace.id)).toBe(0);
  const version = (await store.workspaces.read(workspace.id))?.version;
  const queue = await queueOf(workspace);
  expect(queue).toHaveLength(2);
  expect(taken.map(({ pushes }) => plain(pushes))).toEqual([plain(queue)]);
  expect(taken.map(({ versions, isEnd }) => [[...versions], isEnd])).toEqual([
    [[[workspace.id, version]], true],
  ]);
});

test("if the queue contains events after the taker's position, new events are left in the queue, and Redis wakes the cores", async () => {
  const workspace = await addPushed();
  await keepLease(shardOf(workspace));
  await publishTwo(workspace.id);
  const [first, second] = await queueOf(workspace);
  const early = takeAt(workspace, () => ({ token: TOKEN, after: first?.entryId }));
  expect(await publishTwo(workspace.id)).toBe(1);
  expect(early.taken).toEqual([]);
  early.remove();
  const last = (await queueOf(workspace)).at(-1);
  expect(last?.entryId).not.toBe(second?.entryId);
  const current = takeAt(workspace, () => ({ token: TOKEN, after: last?.entryId }));
  expect(await publishTwo(workspace.id)).toBe(0);
  expect(current.taken.map(({ pushes }) => pushes.length)).toEqual([2]);
});

test.each([
  ["another core holds the lease", () => ({ token: "another", after: undefined })],
  ["the taker cannot take events", () => undefined],
])("events are not taken if %s", async (_, position) => {
  const workspace = await addPushed();
  await keepLease(shardOf(workspace));
  const { taken } = takeAt(workspace, position);
  expect(await publishTwo(workspace.id)).toBe(1);
  expect(taken).toEqual([]);
  expect(await queueOf(workspace)).toHaveLength(2);
});

test("only queued events are taken", async () => {
  const workspace = await addPushed();
  const { workspace: polled } = await addWorkspace(store);
  await keepLease(shardOf(workspace));
  const { taken } = takeAt(workspace, () => ({ token: TOKEN, after: undefined }));
  takeAt(polled, () => ({ token: TOKEN, after: undefined }));
  const published = await store.outboundEvents.publishAll([
    event(workspace.id, "direct", { push: "direct" }),
    event(polled.id, "held"),
    event("00000000-0000-4000-8000-000000000000", "unknown"),
    event(workspace.id, "queued"),
  ]);
  const outcomes = published.map(({ outcome }) => outcome);
  expect(outcomes).toEqual(["published", "published", "unknown-workspace", "published"]);
  expect(taken.flatMap(({ pushes }) => pushes.map(({ eventId }) => eventId))).toEqual(["evt_queued"]);
});

test("the taker reads the queue if the answer to a call of Redis's functions is lost", async () => {
  const looks: string[] = [];
  const taker = {
    position: () => undefined,
    take: () => void looks.push("take"),
    look: () => void looks.push("look"),
  };
  const functions = {
    spansShards: true,
    callEach: async () => {
      throw new StoreUnavailable("the connection was lost");
    },
  } as unknown as Parameters<typeof createOutboundEvents>[0];
  const bounds = { pushQueueMax: 10, pushQueueMaxBytes: 1e6, heldMaxBytes: 1e6, failedShardMaxBytes: 1e6 };
  const position = { token: TOKEN, after: undefined };
  const events = createOutboundEvents(functions, createKeys(16), bounds, {
    offer: () => ({ taker, position, at: 0 }),
  });
  await expect(events.publish(event("00000000-0000-4000-8000-000000000000", "a"))).rejects.toThrow(
    StoreUnavailable,
  );
  expect(looks).toEqual(["look"]);
});
