import { createBell } from "../domain/bell";
import type { QueuedPush, Recorded } from "../ports/push-queue";
import { StoreUnavailable } from "../ports/store-unavailable";
import type { Workspaces } from "../ports/workspaces";
import { createEventAttempts, type EventAttemptsContext } from "./event-attempts";
import { AFTER_FAULT_MS, createCurrentWorkspaces } from "./current-workspaces";
import type { Hold } from "./hold";
import { createInHand, SHARD_BYTES_MAX } from "./in-hand";
import { createWorkspaceLane, type LaneStep, type WorkspaceLane } from "./workspace-lane";

export interface DispatcherContext extends EventAttemptsContext {
  readonly workspaces: Workspaces;
}

const LOOK_EVERY_MS = 1_000;
/** What is read at once. */
const READ_MAX = { events: 200, bytes: 1024 * 1024 } as const;

/**
 * Pushes the events of one shard, for as long as its lease is held.
 *
 * An event goes through these states, from `trying` on in event-attempts.ts:
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
  const inHand = createInHand();
  const current = createCurrentWorkspaces(context, lost);
  const attempts = createEventAttempts(context, hold, current, {
    onTried(push) {
      lanes.get(push.workspaceId)?.end(push);
      advance(push.workspaceId);
    },
    onGone: letGo,
    onPushedAgain: queue,
    onRoom: advanceAll,
  });
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
  await attempts.end();
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
    if (push.attempts > 0) return attempts.resume(push);
    const lane = lanes.get(push.workspaceId) ?? createWorkspaceLane();
    lanes.set(push.workspaceId, lane);
    // What was not there yet when the queue was last read to its end is younger than that, whatever the clocks say.
    const since = Math.max(performance.now() - ageOf(push), caughtUpAt);
    if (!inHand.isOver(push.workspaceId) && lane.add(push, since)) advance(push.workspaceId);
    else attempts.drop(push, "overloaded");
  }

  function advanceAll(): void {
    for (const workspaceId of lanes.keys()) advance(workspaceId);
  }

  function advance(workspaceId: string): void {
    const lane = lanes.get(workspaceId);
    if (lane === undefined || stopping.aborted) return;
    for (let step = nextStep(lane); step !== undefined; step = nextStep(lane)) {
      if (step.do === "drop") attempts.drop(step.push, "overloaded");
      else begin(step.push);
    }
    if (lane.isIdle) lanes.delete(workspaceId);
  }

  function nextStep(lane: WorkspaceLane): LaneStep | undefined {
    return attempts.isFull ? undefined : lane.next(performance.now());
  }

  function begin(push: QueuedPush): void {
    context.pushMeter?.waited(ageOf(push));
    attempts.begin(push);
  }
}
