import { dispatchShard, type DispatcherContext } from "../../core/delivery/shard-dispatcher";
import type { Hold } from "../../core/delivery/hold";
import type { PushOutcome } from "../../core/domain/delivery";
import { createSigningSecret, type Workspace } from "../../core/domain/workspace";
import type { PushRecord, QueuedPush } from "../../core/ports/push-queue";
import { StoreUnavailable } from "../../core/ports/store-unavailable";

const WORKSPACE: Workspace = {
  id: "11111111-2222-4333-8444-555555555555",
  name: "test",
  ownerEmail: "",
  platform: "custom",
  connected: true,
  targetUrl: "https://bridge.example/",
  secrets: [createSigningSecret("a secret", 0)],
  createdAtMs: 0,
};
const OK: PushOutcome = { ok: true, status: 204, latencyMs: 1, address: undefined };
const REFUSED: PushOutcome = { ...OK, ok: false, status: 500, failure: "status", detail: "" };

const queued = (number: number): QueuedPush => ({
  entryId: `${number}-0`,
  workspaceId: WORKSPACE.id,
  eventId: `evt_${number}`,
  messageId: `msg_${number}`,
  eventType: "message.create",
  expiresAtMs: null,
  isRetried: true,
  envelope: Buffer.from("{}"),
  attempts: 0,
  firstFailedAtMs: 0,
});

/** A shard with one event, over a store that can be away, and a bridge whose answers are given one by one. */
function createShard() {
  const world = {
    /** What the store does when it is asked for each of these. */
    lease: "held" as "held" | "forgotten",
    /** What waits in the queue, and how far the clock has stepped. */
    queue: [queued(1)],
    clockMs: 0,
    /** Whether the lease has run out, and no timer has said so yet. */
    isOver: false,
    workspace: "there" as "there" | "away" | "gone",
    records: "taken" as "taken" | "away" | "refused",
    recalled: undefined as Workspace | undefined,
    answers: [] as PushOutcome[],
  };
  const stopping = new AbortController();
  const lost = new AbortController();
  const pushed: string[] = [];
  const recorded: PushRecord[] = [];
  const drops: string[] = [];
  const faults: unknown[] = [];
  const context: DispatcherContext = {
    now: () => Math.floor(performance.now()) + world.clockMs,
    workspaces: {
      read: async () => {
        if (world.workspace === "away") throw new StoreUnavailable("away");
        return world.workspace === "gone" ? undefined : { workspace: WORKSPACE, version: 1 };
      },
      recall: () => world.recalled && { workspace: world.recalled, version: 1 },
      create: async () => true,
      replace: async () => true,
      delete: async () => true,
      list: async () => undefined,
    },
    pushQueue: {
      read: async (_token, _shard, after) => {
        if (world.lease === "forgotten") return undefined;
        return world.queue.filter(({ entryId }) => after === undefined || entryId > after);
      },
      record: async (_token, _shard, record) => {
        if (world.records === "away") throw new StoreUnavailable("away");
        if (world.records === "refused") return "lost";
        recorded.push(record);
        if (record.next.do === "done")
          world.queue = world.queue.filter((push) => push.entryId !== record.push.entryId);
        return "recorded";
      },
      onWake: () => () => undefined,
    },
    pushClient: {
      push: async ({ url }) => {
        pushed.push(url.href);
        return world.answers.shift() ?? OK;
      },
      trace: async () => OK,
      close: async () => undefined,
    },
    onDrop: (_push, reason) => drops.push(reason),
    report: (_where, error) => faults.push(error),
  };
  const hold: Hold = {
    shard: 0,
    token: "token",
    stopping: stopping.signal,
    lost: lost.signal,
    isOver: () => lost.signal.aborted || world.isOver,
  };
  const start = (): Promise<void> => dispatchShard(context, hold);
  return { world, pushed, recorded, drops, faults, stopping, lost, start };
}

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

let shard: ReturnType<typeof createShard>;
let running: Promise<void> | undefined;
beforeEach(() => {
  jest.useFakeTimers();
  shard = createShard();
});
afterEach(async () => {
  shard.stopping.abort();
  shard.lost.abort();
  await pass(2_000);
  await running;
  jest.useRealTimers();
  expect(shard.faults).toEqual([]);
});

test("an event is not given up because the store is away when its workspace is to be read: that is waited for", async () => {
  shard.world.workspace = "away";
  running = shard.start();
  await pass(3_000);
  expect([shard.pushed, shard.recorded, shard.drops]).toEqual([[], [], []]);
  shard.world.workspace = "there";
  await pass(500);
  expect([shard.pushed.length, shard.recorded.length, shard.drops]).toEqual([1, 1, []]);
});

test("while the store is away an event is pushed by what was last known of its workspace", async () => {
  shard.world.workspace = "away";
  shard.world.recalled = { ...WORKSPACE, targetUrl: "https://known.example/" };
  running = shard.start();
  await pass(100);
  expect(shard.pushed).toEqual(["https://known.example/"]);
});

test("a workspace that is gone has its event given up", async () => {
  shard.world.workspace = "gone";
  running = shard.start();
  await pass(100);
  expect([shard.pushed, shard.drops]).toEqual([[], ["disconnected"]]);
  expect(shard.recorded).toMatchObject([
    { delivery: { result: "disconnected", attempt: 0 }, next: { do: "done" } },
  ]);
});

test("a store that forgot the lease is asked again until the lease is taken anew", async () => {
  shard.world.lease = "forgotten";
  running = shard.start();
  await pass(1_000);
  expect(shard.pushed).toEqual([]);
  shard.world.lease = "held";
  await pass(1_100);
  expect(shard.pushed).toHaveLength(1);
});

test("attempts are made on time while the store is away, and recorded in their order when it is back", async () => {
  shard.world.answers = [REFUSED, REFUSED, OK];
  shard.world.recalled = WORKSPACE;
  shard.world.records = "away";
  running = shard.start();
  await pass(900);
  expect(shard.pushed).toHaveLength(1);
  await pass(200);
  expect(shard.pushed).toHaveLength(2);
  expect(shard.recorded).toEqual([]);
  shard.world.records = "taken";
  await pass(4_000);
  expect(shard.recorded.map(({ delivery, next }) => [delivery?.attempt, next.do])).toEqual([
    [1, "retry"],
    [2, "retry"],
    [3, "done"],
  ]);
});

test("when the lease is lost, nothing is tried any more and nothing recorded", async () => {
  shard.world.answers = [REFUSED];
  shard.world.records = "away";
  running = shard.start();
  await pass(500);
  shard.stopping.abort();
  shard.lost.abort();
  shard.world.records = "taken";
  await pass(10_000);
  await running;
  expect(shard.pushed).toHaveLength(1);
  expect(shard.recorded).toEqual([]);
});

test("what a store refused that had forgotten the lease is recorded when the lease is taken again", async () => {
  shard.world.records = "refused";
  running = shard.start();
  await pass(2_000);
  expect([shard.pushed.length, shard.recorded]).toEqual([1, []]);
  shard.world.records = "taken";
  await pass(1_000);
  expect(shard.recorded.map(({ next }) => next.do)).toEqual(["done"]);
  expect(shard.pushed).toHaveLength(1);
});

// contract: retry-create
test("a step of the clock between attempts moves none of them", async () => {
  const began = performance.now();
  const at: number[] = [];
  shard.world.answers = Array.from({ length: 3 }, () => REFUSED);
  running = shard.start();
  for (const stepMs of [10_000, -60_000]) {
    await pass(500);
    at.push(...shard.pushed.slice(at.length).map(() => Math.round((performance.now() - began) / 500) * 500));
    shard.world.clockMs += stepMs;
  }
  for (let i = 0; i < 20; i++) {
    await pass(500);
    at.push(...shard.pushed.slice(at.length).map(() => Math.round((performance.now() - began) / 500) * 500));
  }
  expect(at).toHaveLength(3);
  expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(500);
  expect((at[2] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(3_500);
  expect((at[2] ?? 0) - (at[0] ?? 0)).toBeLessThanOrEqual(4_500);
});

test("entries of a store that took over with a clock behind are found, and none is seen to twice", async () => {
  shard.world.queue = [queued(5)];
  shard.world.answers = [REFUSED];
  running = shard.start();
  await pass(500);
  expect(shard.pushed).toHaveLength(1);
  // It is not there for a moment, and has another entry then, before the one that rests.
  shard.world.lease = "forgotten";
  await pass(1_500);
  shard.world.lease = "held";
  shard.world.queue = [queued(3), queued(5)];
  await pass(10_000);
  expect(shard.pushed).toHaveLength(3);
  expect(shard.recorded.map(({ push, next }) => `${push.entryId} ${next.do}`).toSorted()).toEqual([
    "3-0 done",
    "5-0 done",
    "5-0 retry",
  ]);
});

test("a lease that has run out by the time is not acted on, though nothing has been aborted yet", async () => {
  shard.world.isOver = true;
  running = shard.start();
  await pass(2_000);
  expect([shard.pushed, shard.recorded, shard.drops]).toEqual([[], [], []]);
});
