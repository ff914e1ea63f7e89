import type { Lease } from "../../core/leases/lease";
import type { PushClient } from "../../core/delivery/push-client";
import { dispatchShard, type DispatcherContext } from "../../core/delivery/shard-dispatcher";
import type { PushOutcome } from "../../core/domain/delivery";
import { createSigningSecret, type UnreadableSecret, type Workspace } from "../../core/domain/workspace";
import type { PushRecord, QueuedPush, Recorded } from "../../core/ports/push-queue";
import { StoreUnavailable } from "../../core/ports/store-faults";
import type { Workspaces } from "../../core/ports/workspaces";

export const WORKSPACE: Workspace = {
  id: "11111111-2222-4333-8444-555555555555",
  name: "test",
  ownerEmail: "",
  platform: "custom",
  connected: true,
  targetUrl: "https://bridge.example/",
  secrets: [createSigningSecret("a secret", 0)],
  createdAtMs: 0,
};
const UNREADABLE: UnreadableSecret = {
  sealed: "00000000.AAAA",
  missingKey: "00000000",
  createdAtMs: 0,
  retiredAtMs: undefined,
};
export const OK: PushOutcome = { ok: true, status: 204, latencyMs: 1, address: undefined };
export const REFUSED: PushOutcome = { ...OK, ok: false, status: 500, failure: "status", detail: "" };
export const TIMEOUT: PushOutcome = { ...REFUSED, status: undefined, failure: "timeout" };

/** Returns the event with the given number, as a read of the push queue returns it. */
export const queued = (number: number, fields: Partial<QueuedPush> = {}): QueuedPush => ({
  entryId: `${number}-0`,
  workspaceId: WORKSPACE.id,
  eventId: `evt_${number}`,
  messageId: `msg_${number}`,
  eventType: "message.create",
  expiresAtMs: null,
  publisher: "trivia",
  isRetried: true,
  envelope: Buffer.from("{}"),
  bytes: 100,
  attempts: 0,
  firstFailedAtMs: 0,
  ...fields,
});

export const queuedMany = (count: number, fields: Partial<QueuedPush> = {}): QueuedPush[] =>
  Array.from({ length: count }, (_, i) => queued(i + 1, fields));

/** Resolves with an outcome after `ms` milliseconds. */
export const after = (ms: number, outcome: PushOutcome): Promise<PushOutcome> =>
  new Promise((resolve) => setTimeout(() => resolve(outcome), ms));

export const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

/** An attempt or a drop, with its time in ms since the shard was created. */
export interface Dated {
  readonly eventId: string;
  readonly atMs: number;
}
export interface Attempt extends Dated {
  /** The number of this attempt to push the event: 1 for the first attempt. */
  readonly number: number;
  readonly url: string;
}

export type TestShard = ReturnType<typeof createShard>;

/** Creates the real dispatcher of a shard on jest's fake clock, with a store and a bridge that the test controls. */
export function createShard() {
  const world = {
    /** "held": reads of the queue work. "forgotten": Redis has lost the lease. "away": reads of the queue fail. */
    lease: "held" as "held" | "forgotten" | "away",
    queue: [queued(1)],
    /** Milliseconds by which the service clock is ahead, because the test simulated a jump of the clock. */
    clockMs: 0,
    /** Whether the lease has expired although its timer has not fired yet. */
    isOver: false,
    workspace: WORKSPACE as Workspace | "away" | "gone",
    /**
     * The current versions of workspaces' records, which each read of the queue returns. At first, the stored workspace
     * and the cached workspace both have version 1.
     */
    versions: new Map<string, number>(),
    /** Ids of the workspaces whose secrets cannot be decrypted. */
    unreadable: new Set<string>(),
    /** The workspace in the store's cache, if any. */
    recalled: undefined as Workspace | undefined,
    records: "taken" as "taken" | "away" | "refused",
    /** The store's answer when core records that an event is held. */
    held: "recorded" as Recorded,
    answer: (_attempt: Attempt): PushOutcome | Promise<PushOutcome> => OK,
  };
  const beganAt = performance.now();
  const atMs = (): number => performance.now() - beganAt;
  const attempts: Attempt[] = [];
  const reads: { readonly id: string; readonly atMs: number }[] = [];
  const drops: (Dated & { readonly reason: string })[] = [];
  const recorded: PushRecord[] = [];
  const faults: unknown[] = [];
  const runs: Promise<void>[] = [];
  const holds: { readonly stopping: AbortController; readonly lost: AbortController }[] = [];
  const wakes = new Set<(shard: number) => void>();
  // At the end of a test, `answerRest` answers all attempts that are still unanswered.
  let answerRest = (_outcome: PushOutcome): void => {};
  const ended = new Promise<PushOutcome>((resolve) => (answerRest = resolve));

  const context: DispatcherContext = {
    pushQueueMax: 50_000,
    pushQueueMaxBytes: 64 * 1024 * 1024,
    onUnreadable: () => undefined,
    now: () => Math.floor(atMs()) + world.clockMs,
    workspaces: {
      read: async (id) => {
        if (world.workspace === "away") throw new StoreUnavailable("unavailable");
        reads.push({ id, atMs: atMs() });
        if (world.workspace === "gone") return undefined;
        const secrets = world.unreadable.has(id) ? [UNREADABLE] : world.workspace.secrets;
        return { workspace: { ...world.workspace, id, secrets }, version: 1 };
      },
      recall: () => world.recalled && { workspace: world.recalled, version: 1 },
    } as Partial<Workspaces> as Workspaces,
    pushQueue: {
      read: async (_token, _shard, from, { events, bytes }) => {
        if (world.lease === "forgotten") return undefined;
        if (world.lease === "away") throw new StoreUnavailable("unavailable");
        const isNew = ({ entryId }: QueuedPush) =>
          from === undefined || Number.parseInt(entryId, 10) > Number.parseInt(from, 10);
        const found = world.queue.filter(isNew);
        let room = bytes;
        const pushes = found.slice(0, events).filter((push, i) => (room -= push.bytes) >= 0 || i === 0);
        return { pushes, versions: world.versions, isEnd: pushes.length === found.length };
      },
      record: async (_token, _shard, record) => {
        if (world.records === "away") throw new StoreUnavailable("unavailable");
        if (world.records === "refused") return "lost";
        recorded.push(record);
        const { push, next } = record;
        world.queue = world.queue.flatMap((each) => {
          if (each.entryId !== push.entryId) return [each];
          return next.do === "retry" ? [{ ...each, ...next }] : [];
        });
        return next.do === "hold" ? world.held : "recorded";
      },
      onWake: (wake) => {
        wakes.add(wake);
        return () => wakes.delete(wake);
      },
    },
    pushClient: {
      push: async ({ eventId, url }) => {
        const number = attempts.filter((each) => each.eventId === eventId).length + 1;
        const attempt = { eventId, number, url: url.href, atMs: atMs() };
        attempts.push(attempt);
        return Promise.race([world.answer(attempt), ended]);
      },
    } as PushClient,
    onDrop: ({ eventId }, reason) => void drops.push({ eventId, reason, atMs: atMs() }),
    report: (_where, error) => faults.push(error),
  };

  /** Makes all leases behave as if they had expired. */
  const lose = (): void => {
    for (const { stopping, lost } of holds) {
      stopping.abort();
      lost.abort();
    }
  };
  /** Stops the dispatchers, as if another core now owned the shard. */
  const stop = (): void => {
    for (const { stopping } of holds) stopping.abort();
  };
  return {
    world,
    attempts,
    /** The reads of workspaces. */
    reads,
    recorded,
    drops,
    faults,
    lose,
    stop,
    times: () => attempts.map((attempt) => attempt.atMs),
    /** Starts the dispatcher of a new holder of the lease. */
    start() {
      const [stopping, lost] = [new AbortController(), new AbortController()];
      holds.push({ stopping, lost });
      const isOver = () => lost.signal.aborted || world.isOver;
      const lease: Lease = {
        shard: 0,
        token: "token",
        state: "held",
        stopping: stopping.signal,
        over: lost.signal,
        isOver,
      };
      runs.push(dispatchShard(context, lease));
    },
    add(...pushes: readonly QueuedPush[]) {
      world.queue.push(...pushes);
      for (const wake of wakes) wake(0);
    },
    /** Stops all dispatchers. Resolves when all dispatchers have stopped. */
    async end() {
      lose();
      answerRest(OK);
      await pass(10_000);
      await Promise.all(runs);
    },
    /** Changes `world`, and advances the clock. */
    wait(ms: number, change: Partial<typeof world> = {}) {
      Object.assign(world, change);
      return pass(ms);
    },
    /** Changes `world`, starts a new holder of the lease, and advances the clock. */
    run(ms: number, change: Partial<typeof world> = {}) {
      Object.assign(world, change);
      this.start();
      return pass(ms);
    },
  };
}

/** Creates a shard for each test of a file, on jest's fake clock. A test fails if the shard reported a fault. */
export function testShard(): () => TestShard {
  let shard: TestShard;
  beforeEach(() => {
    jest.useFakeTimers();
    shard = createShard();
  });
  afterEach(async () => {
    await shard.end();
    jest.useRealTimers();
    expect(shard.faults).toEqual([]);
  });
  return () => shard;
}
