import { WORKSPACE_BYTES_MAX } from "../../core/delivery/shard-queue";
import { createRestingWorkspaces } from "../../core/delivery/resting-workspaces";
import { WAITING_MAX } from "../../core/delivery/turns";
import { pass, queued, queuedMany, testShard, WORKSPACE } from "../harness/test-shard";

const OTHER = "22222222-2222-4333-8444-555555555555";
const shard = testShard();
const ids = (): readonly string[] => shard().attempts.map(({ eventId }) => eventId);
const unreadable = new Set([WORKSPACE.id]);

// time: controlled
describe("a workspace whose secret no key decrypts", () => {
  test("a workspace with an unreadable secret keeps its events in the queue, and they are pushed in the order of publication when the secret is readable", async () => {
    const queue = queuedMany(40, { isRetried: false });
    await shard().run(60_000, { unreadable, queue: [...queue] });
    expect([ids(), shard().drops, shard().world.queue]).toEqual([[], [], queue]);
    shard().add(queued(41));
    await pass(60_000);
    expect(ids()).toEqual([]);
    await shard().wait(61_000, { unreadable: new Set() });
    expect(ids()).toEqual([...queue, queued(41)].map(({ eventId }) => eventId));
    expect([shard().drops, shard().world.queue]).toEqual([[], []]);
  });

  test("a workspace with an unreadable secret does not delay events of other workspaces", async () => {
    const queue = queuedMany(40);
    await shard().run(0, { unreadable, queue: [...queue, queued(41, { workspaceId: OTHER })] });
    expect(ids()).toEqual(["evt_41"]);
    shard().add(queued(42, { workspaceId: OTHER }));
    await pass(0);
    expect(ids()).toEqual(["evt_41", "evt_42"]);
  });

  test("a workspace with an unreadable secret is read again from the store after pauses that grow from one second to one minute", async () => {
    await shard().run(600_000, { unreadable, queue: queuedMany(40) });
    const times = shard().reads.map(({ atMs }) => atMs);
    const pauses = times.slice(1).map((atMs, i) => atMs - (times[i] ?? 0));
    expect(pauses.slice(0, 4)).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(pauses.slice(6).every((pause) => pause >= 60_000 && pause <= 61_000)).toBe(true);
    expect(times.length).toBeGreaterThan(10);
  });

  test("a workspace with an unreadable secret keeps the number of attempts that were already made for an event", async () => {
    const tried = queued(1, { attempts: 1, firstFailedAtMs: 0 });
    await shard().run(30_000, { unreadable, queue: [tried] });
    expect(shard().world.queue).toEqual([tried]);
    await shard().wait(61_000, { unreadable: new Set() });
    expect(shard().recorded).toMatchObject([{ delivery: { attempt: 2 }, next: { do: "done" } }]);
  });

  test("a workspace with an unreadable secret loses only its own events: those that exceed its share of the queue are dropped as overloaded", async () => {
    const queue = queuedMany(WAITING_MAX + 3, { bytes: 1 });
    await shard().run(5_000, { unreadable, queue: [...queue, queued(9_999, { workspaceId: OTHER })] });
    const overloaded = queue.slice(WAITING_MAX).map(({ eventId }) => ({ eventId, reason: "overloaded" }));
    expect(shard().drops).toMatchObject(overloaded);
    expect([ids(), shard().world.queue.length]).toEqual([["evt_9999"], WAITING_MAX]);
  });

  test("workspaces with unreadable secrets, even many, occupy no memory for events, so another workspace's events are still read", async () => {
    const resting = Array.from({ length: 8 }, (_, i) => `a222222${i}-2222-4333-8444-555555555555`);
    const bytes = WORKSPACE_BYTES_MAX;
    const queue = resting.map((workspaceId, i) => queued(i + 1, { workspaceId, bytes }));
    // Together, the resting events and this event are larger than the memory limit for a shard's events.
    const other = queued(99, { workspaceId: OTHER, bytes });
    await shard().run(5_000, { unreadable: new Set(resting), queue: [...queue, other] });
    expect([ids(), shard().drops]).toEqual([["evt_99"], []]);
  });
});

test("workspaces with unreadable secrets together fill at most half of a small queue, and each of them at most an eighth", () => {
  const resting = createRestingWorkspaces({ pushQueueMax: 80, pushQueueMaxBytes: 1_000_000 });
  const accepted = ["a", "b", "c", "d", "e"].map((workspaceId) => {
    resting.begin(workspaceId);
    return Array.from({ length: 30 }, (_, i) => resting.add(queued(i, { workspaceId }))).filter(Boolean)
      .length;
  });
  expect(accepted).toEqual([10, 10, 10, 10, 0]);
  expect(resting.end("a")).toHaveLength(10);
  expect(resting.add(queued(1, { workspaceId: "e" }))).toBe(true);
  expect(resting.add(queued(1, { workspaceId: "e", bytes: 125_000 }))).toBe(false);
});
