import { createBell } from "../domain/bell";
import { deliveryOf, dropOf, type Delivery, type DropReason } from "../domain/delivery";
import { RETRY_OFFSETS_MS } from "../domain/retry";
import type { Clock } from "../ports/clock";
import type { PushMeter } from "../ports/push-meter";
import type { PushQueue, QueuedPush, Recorded } from "../ports/push-queue";
import { StoreUnavailable } from "../ports/store-unavailable";
import type { Workspaces } from "../ports/workspaces";
import { AFTER_FAULT_MS, createCurrentWorkspaces } from "./current-workspaces";
import type { Hold } from "./hold";
import { createInHand, SHARD_BYTES_MAX } from "./in-hand";
import { tryToPush, type AttemptOutcome } from "./push-attempt";
import type { PushClient } from "./push-client";
import { createPushRecorder } from "./push-recorder";
import { createWorkspaceLane, type LaneStep, type WorkspaceLane } from "./workspace-lane";

export interface DispatcherContext {
  readonly now: Clock;
  readonly workspaces: Workspaces;
  readonly pushQueue: PushQueue;
  readonly pushClient: PushClient;
  readonly pushMeter?: PushMeter;
  /** Told of every event that is given up, with its reason. */
  onDrop(push: QueuedPush, reason: DropReason | "failed"): void;
  /** Told of faults that are bugs. */
  report(where: string, error: unknown): void;
}

/** When the first attempt of an event failed. */
interface FirstFailure {
  /** By the service's clock, for whoever holds the shard next. */
  readonly atMs: number;
  /** By performance.now(), as clocks step. */
  readonly at: number;
}

const LOOK_EVERY_MS = 1_000;
/** What is read at once. */
const READ_MAX = { events: 200, bytes: 1024 * 1024 } as const;
/** For how long a workspace that was read will do for first attempts. */
const FRESH_MS = 50;

/**
 * Pushes the events of one shard, for as long as its lease is held.
 *
 * An event goes through these states:
 *
 *   queued   in the store; read in the order of publication, as far as the bytes in hand leave room
 *   waiting  in the lane of its workspace, for its first attempt
 *   trying   an attempt is under way
 *   resting  until a second or third attempt is due, by a timer; the store knows
 *            how many were made and when the first failed, so that the next holder
 *            of the shard makes the ones that remain
 *   gone     delivered, dropped with a reason, or held after all, as its workspace
 *            polls by now; recorded, which takes it out of the queue
 *
 * Every attempt is made by what the workspace is: read after its event was
 * published, and at most a moment ago; for a further attempt, at its very time. The
 * next event's attempt need not wait until this one's outcome is recorded. What
 * could not be recorded because the store is away is recorded later; when the lease is lost
 * first, the next holder makes that attempt again, which bridges tell by its id.
 */
export async function dispatchShard(context: DispatcherContext, hold: Hold): Promise<void> {
  const { shard, token, stopping, lost } = hold;
  const { pushQueue, now } = context;
  const bell = createBell();
  const lanes = new Map<string, WorkspaceLane>();
  const timers = new Set<NodeJS.Timeout>();
  const underWay = new Set<Promise<void>>();
  const inHand = createInHand();
  const current = createCurrentWorkspaces(context, lost);
  const recorder = createPushRecorder(context, hold, advanceAll);
  const stopWakes = pushQueue.onWake((woken) => {
    if (woken === shard) bell.ring();
  });
  const stopWatch = context.pushMeter?.watch(() => {
    let waiting = 0;
    for (const lane of lanes.values()) waiting += lane.waiting;
    return { waiting, bytes: inHand.bytes };
  });
  stopping.addEventListener("abort", bell.ring, { once: true });

  let after: string | undefined;
  /** When the last reading to the queue's end began, by performance.now(). */
  let caughtUpAt = -Infinity;
  /** From the beginning: a store that took over may have lost what `after` was, and its clock be behind. */
  function readAgain(): void {
    after = undefined;
    inHand.readAgain();
  }
  while (!stopping.aborted) {
    try {
      if (isFull()) {
        advanceAll();
        await bell.wait(LOOK_EVERY_MS);
        continue;
      }
      const readAt = performance.now();
      const read = await pushQueue.read(token, shard, after, READ_MAX);
      if (read === undefined) {
        // Another's, or forgotten by a store that lost it: which of the two, the holder of the lease finds out.
        readAgain();
        await bell.wait(AFTER_FAULT_MS);
        continue;
      }
      // What was read of workspaces before may be older than these events.
      if (read.pushes.length > 0) current.renew(read.versions, readAt);
      for (const push of read.pushes) if (inHand.take(push)) queue(push);
      after = read.pushes.at(-1)?.entryId ?? after;
      if (!read.isEnd) continue;
      inHand.caughtUp();
      caughtUpAt = readAt;
      advanceAll();
      await bell.wait(LOOK_EVERY_MS);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) context.report("dispatch", error);
      readAgain();
      await bell.wait(AFTER_FAULT_MS);
    }
  }
  stopWakes();
  for (const timer of timers) clearTimeout(timer);
  await Promise.allSettled(underWay);
  stopWatch?.();

  /** Whether there is no room in hand for all that may be read at once. */
  function isFull(): boolean {
    return inHand.bytes + READ_MAX.bytes > SHARD_BYTES_MAX;
  }

  /** Nothing more is done about an event. One that was not recorded is still queued, and not to be seen to again by this hold. */
  function letGo(push: QueuedPush, recorded: Recorded): void {
    const wasFull = isFull();
    if (recorded === "lost") inHand.abandon(push);
    else inHand.finish(push);
    if (wasFull && !isFull()) bell.ring();
  }

  /** How long ago an event was published, in ms, by clocks that may have stepped meanwhile. */
  function ageOf(push: QueuedPush): number {
    // The id of an entry begins with Redis's clock, in ms.
    return Math.max(0, now() - Number.parseInt(push.entryId, 10));
  }

  function queue(push: QueuedPush): void {
    if (push.attempts > 0) {
      const atMs = push.firstFailedAtMs;
      return rest(push, push.attempts, { atMs, at: performance.now() - Math.max(0, now() - atMs) });
    }
    const lane = lanes.get(push.workspaceId) ?? createWorkspaceLane();
    lanes.set(push.workspaceId, lane);
    // What was not there yet when the queue was last read to its end is younger than that, whatever the clocks say.
    const since = Math.max(performance.now() - ageOf(push), caughtUpAt);
    if (!inHand.isOver(push.workspaceId) && lane.add(push, since)) advance(push.workspaceId);
    else begin(push, drop(push, 0, "overloaded"));
  }

  function advanceAll(): void {
    for (const workspaceId of lanes.keys()) advance(workspaceId);
  }

  function advance(workspaceId: string): void {
    const lane = lanes.get(workspaceId);
    if (lane === undefined || stopping.aborted) return;
    for (let step = nextStep(lane); step !== undefined; step = nextStep(lane)) {
      if (step.do === "drop") begin(step.push, drop(step.push, 0, "overloaded"));
      else begin(step.push, firstAttempt(step.push, lane));
    }
    if (lane.isIdle) lanes.delete(workspaceId);
  }

  function nextStep(lane: WorkspaceLane): LaneStep | undefined {
    return recorder.isFull ? undefined : lane.next(performance.now());
  }

  async function firstAttempt(push: QueuedPush, lane: WorkspaceLane): Promise<void> {
    let outcome: AttemptOutcome;
    context.pushMeter?.waited(ageOf(push));
    try {
      outcome = await tryToPush(context, current, hold, push, FRESH_MS);
    } finally {
      lane.end(push);
      advance(push.workspaceId);
    }
    await conclude(push, 1, undefined, outcome);
  }

  function begin(push: QueuedPush, work: Promise<void>): void {
    const settled = work
      .catch((error: unknown) => {
        context.report("push", error);
        letGo(push, "lost");
      })
      .finally(() => underWay.delete(settled));
    underWay.add(settled);
  }

  /** Waits until the attempt after the `made` ones is due, whose record goes after the last one's. */
  function rest(push: QueuedPush, made: number, failed: FirstFailure, recorded?: Promise<Recorded>): void {
    if (stopping.aborted) return;
    const dueAt = failed.at + (RETRY_OFFSETS_MS[made - 1] ?? 0);
    const timer = setTimeout(
      () => {
        timers.delete(timer);
        context.pushMeter?.retried(performance.now() - dueAt);
        begin(push, attempt(push, made + 1, failed, recorded));
      },
      Math.max(0, dueAt - performance.now()),
    );
    timers.add(timer);
  }

  async function attempt(
    push: QueuedPush,
    number: number,
    failed: FirstFailure,
    recorded?: Promise<Recorded>,
  ): Promise<void> {
    const outcome = await tryToPush(context, current, hold, push, 0);
    await recorded;
    await conclude(push, number, failed, outcome);
  }

  /** Records what came of an attempt, and sees to what is to come. */
  async function conclude(
    push: QueuedPush,
    number: number,
    failed: FirstFailure | undefined,
    outcome: AttemptOutcome,
  ): Promise<void> {
    if (lost.aborted || outcome === undefined) return;
    if (typeof outcome === "string") {
      // Never sent, and polled for by now: it waits with the held ones. Else it is given up.
      if (outcome === "polls" && number === 1) await holdInstead(push);
      else await drop(push, number - 1, outcome);
      return;
    }
    const delivery = deliveryOf(push.eventId, push.eventType, number, outcome);
    if (!outcome.ok && push.isRetried && number <= RETRY_OFFSETS_MS.length) {
      const first = failed ?? { atMs: now(), at: performance.now() };
      const next = { do: "retry", attempts: number, firstFailedAtMs: first.atMs } as const;
      const written = recorder.record({ push, delivery, next });
      rest(push, number, first, written);
      await written;
      return;
    }
    if (!outcome.ok) context.onDrop(push, "failed");
    await finish(push, delivery);
  }

  async function finish(push: QueuedPush, delivery: Delivery): Promise<void> {
    letGo(push, await recorder.record({ push, delivery, next: { do: "done" } }));
  }

  async function holdInstead(push: QueuedPush): Promise<void> {
    const recorded = await recorder.record({ push, delivery: undefined, next: { do: "hold" } });
    if (recorded === "polls" || recorded === "disconnected") context.onDrop(push, recorded);
    if (recorded === "pushed") queue(push);
    else letGo(push, recorded);
  }

  async function drop(push: QueuedPush, attempts: number, reason: DropReason): Promise<void> {
    context.onDrop(push, reason);
    await finish(push, dropOf(push.eventId, push.eventType, attempts, reason));
  }
}
