import type { DropReason } from "../../contract/deliveries";
import { createWaker } from "../domain/waker";
import { activeKeys, deliveryMode, missingKey } from "../domain/workspace";
import type { QueuedPush, Recorded } from "../ports/push-queue";
import { StoreUnavailable } from "../ports/store-faults";
import type { Workspaces } from "../ports/workspaces";
import { createEventAttempts, type EventAttemptsContext } from "./event-attempts";
import { AFTER_FAULT_MS, createCurrentWorkspaces } from "./current-workspaces";
import type { Lease } from "../leases/lease";
import { createInHand, SHARD_BYTES_MAX } from "./in-hand";
import { createRestingWorkspaces, type QueueSize } from "./resting-workspaces";
import {
  createFirstAttempts,
  type FirstAttemptStep,
  type FirstAttempts,
  WAIT_MAX_MS,
} from "./first-attempts";

export interface DispatcherContext extends EventAttemptsContext, QueueSize {
  readonly workspaces: Workspaces;
  /** Called when the pushes of a workspace begin to wait, because core lacks the key of its secret. */
  onUnreadable(workspaceId: string, missingKey: string): void;
}

const LOOK_EVERY_MS = 1_000;
/** The limits of one read of the queue. */
const READ_MAX = { events: 200, bytes: 1024 * 1024 } as const;

/**
 * Pushes the events of one shard while the shard's lease is held.
 *
 * An event goes through these states; event-attempts.ts implements the states after `waiting`:
 *
 *   queued   stored; core reads the events in the order of publication, while there is room in `inHand`
 *   waiting  in the `FirstAttempts` of its workspace, for its first attempt
 *   trying   an attempt is in progress
 *   resting  waiting for the timer of its second or third attempt; the store has the number of
 *            attempts and the time of the first failure, so the next holder of the lease can
 *            make the remaining attempts
 *   resting workspace
 *            core cannot decrypt the secrets of the workspace: its events stay in the queue until
 *            core can, and core looks again after growing pauses
 *   gone     delivered, dropped with a reason, or held because its workspace polls now;
 *            recording this outcome removes the event from the queue
 *
 * A first attempt uses a version of the workspace that was read after the event was published, and at most `FRESH_MS`
 * before the attempt. A retry reads the workspace again. An attempt does not wait until the outcome of the previous
 * event is recorded. If the store is unavailable, core records the outcome later. When the work on the shard must
 * stop, core finishes the attempts in progress, and records their outcomes. If the lease is lost before an outcome is
 * recorded, the next holder repeats the attempt, and the bridge recognizes the repeated event by its id.
 */
export async function dispatchShard(context: DispatcherContext, lease: Lease): Promise<void> {
  const { shard, token, stopping, over } = lease;
  const { pushQueue, now } = context;
  const waker = createWaker();
  const firstAttempts = new Map<string, FirstAttempts>();
  const inHand = createInHand();
  const resting = createRestingWorkspaces(context);
  const current = createCurrentWorkspaces(context, over);
  const attempts = createEventAttempts(context, lease, current, {
    onTried(push) {
      firstAttempts.get(push.workspaceId)?.end(push);
      advance(push.workspaceId);
    },
    onGone: letGo,
    onUnreadable(push) {
      beginRest(push.workspaceId);
      shelve(push);
    },
    onPushedAgain: queue,
    onRoom: advanceAll,
  });
  const stopWakes = pushQueue.onWake((woken) => {
    if (woken === shard) waker.wake();
  });
  const stopWatch = context.pushMeter?.watch(() => {
    let waiting = 0;
    for (const first of firstAttempts.values()) waiting += first.waiting;
    return { waiting, bytes: inHand.bytes };
  });
  stopping.addEventListener("abort", waker.wake, { once: true });

  const beganAt = performance.now();
  /** The last time during which reads of the queue failed, as values of `performance.now()`. */
  const fault = { isOver: true, from: -Infinity, to: -Infinity };
  function noteFault(): void {
    fault.to = performance.now();
    if (fault.isOver) fault.from = fault.to;
    fault.isOver = false;
  }
  let after: string | undefined;
  /** Start of the last read that reached the end of the queue, as a `performance.now()`. */
  let caughtUpAt = -Infinity;
  /**
   * Makes the next read begin at the start of the queue. After a failover, the new server may not have the entry
   * `after`. The new server's clock may also be behind, so that new entries have lower ids than `after`.
   */
  function readAgain(): void {
    after = undefined;
    inHand.readAgain();
  }
  while (!stopping.aborted) {
    try {
      if (await endRests()) readAgain();
      if (isFull()) {
        advanceAll();
        await waker.wait(LOOK_EVERY_MS);
        continue;
      }
      const readAt = performance.now();
      const read = await pushQueue.read(token, shard, after, READ_MAX);
      if (read === undefined) {
        // Another core holds the lease, or Redis has lost the lease. `holdLeases` determines which.
        noteFault();
        readAgain();
        await waker.wait(AFTER_FAULT_MS);
        continue;
      }
      fault.isOver = true;
      // The workspaces in `current` may have been read before these events were published. Such a read is too old
      // for the first attempts of these events.
      if (read.pushes.length > 0) current.renew(read.versions, readAt);
      for (const push of read.pushes) if (inHand.take(push)) queue(push);
      after = read.pushes.at(-1)?.entryId ?? after;
      if (!read.isEnd) continue;
      inHand.caughtUp();
      caughtUpAt = readAt;
      advanceAll();
      await waker.wait(LOOK_EVERY_MS);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) context.report("dispatch", error);
      noteFault();
      readAgain();
      await waker.wait(AFTER_FAULT_MS);
    }
  }
  stopWakes();
  await attempts.end();
  stopWatch?.();

  /** Returns whether `inHand` has no room for another read of the maximum size. */
  function isFull(): boolean {
    return inHand.bytes + READ_MAX.bytes > SHARD_BYTES_MAX;
  }

  /**
   * Ends the work on an event. If the outcome was not recorded, the event stays queued for the next holder of
   * the lease.
   */
  function letGo(push: QueuedPush, recorded: Recorded): void {
    const wasFull = isFull();
    if (recorded === "lost") inHand.abandon(push);
    else inHand.finish(push);
    if (wasFull && !isFull()) waker.wake();
  }

  /** Returns the milliseconds since an event was published, on the service clock, which may have jumped meanwhile. */
  function ageOf(push: QueuedPush): number {
    // The id of an entry begins with the Redis time in ms.
    return Math.max(0, now() - Number.parseInt(push.entryId, 10));
  }

  function queue(push: QueuedPush): void {
    if (resting.has(push.workspaceId)) return shelve(push);
    if (push.attempts > 0) return attempts.resume(push);
    const first = firstAttempts.get(push.workspaceId) ?? createFirstAttempts();
    firstAttempts.set(push.workspaceId, first);
    // `since` is never before `caughtUpAt`: if the last read to the end of the queue did not return this event, the
    // event is newer than that read, whatever the clocks say.
    const since = Math.max(performance.now() - ageOf(push), caughtUpAt);
    if (!inHand.isOver(push.workspaceId) && first.add(push, since)) advance(push.workspaceId);
    else attempts.drop(push, "overloaded");
  }

  /**
   * Returns why an event that was published at `since` is too late for its first attempt. An outage is the reason if the
   * event was already late when this core began to read the queue, or if reads failed during most of the wait.
   */
  function whyLate(since: number): DropReason {
    const lostMs = Math.min(fault.to, since + WAIT_MAX_MS) - Math.max(fault.from, since);
    return beganAt - since > WAIT_MAX_MS || lostMs > WAIT_MAX_MS / 2 ? "outage" : "overloaded";
  }

  function advanceAll(): void {
    attempts.dropLate();
    for (const workspaceId of firstAttempts.keys()) advance(workspaceId);
  }

  function advance(workspaceId: string): void {
    const first = firstAttempts.get(workspaceId);
    if (first === undefined || stopping.aborted) return;
    if (resting.has(workspaceId)) for (const push of first.takeAll()) shelve(push);
    for (let step = nextStep(first); step !== undefined; step = nextStep(first)) {
      if (step.do === "drop") attempts.drop(step.push, whyLate(step.since));
      else begin(step.push);
    }
    if (first.isIdle) firstAttempts.delete(workspaceId);
  }

  function beginRest(workspaceId: string): void {
    if (resting.has(workspaceId)) return;
    resting.begin(workspaceId);
    const workspace = context.workspaces.recall(workspaceId)?.workspace;
    context.onUnreadable(workspaceId, (workspace && missingKey(workspace, now())) ?? "unknown");
  }

  /** Leaves an event of a resting workspace in the queue, or drops the event if the workspace has used its share. */
  function shelve(push: QueuedPush): void {
    if (resting.add(push)) inHand.abandon(push);
    else attempts.drop(push, "overloaded");
  }

  /**
   * Ends the rests of the workspaces to which core can push again. Returns whether there are any: the queue must then be
   * read again. Must not be called during a read of the queue, because that read may return only the newer events.
   */
  async function endRests(): Promise<boolean> {
    let isAny = false;
    for (const workspaceId of resting.due()) {
      if (await isReadable(workspaceId)) {
        inHand.putBack(resting.end(workspaceId));
        isAny = true;
      } else resting.restAgain(workspaceId);
    }
    return isAny;
  }

  /** Whether an attempt would do anything but rest. */
  async function isReadable(workspaceId: string): Promise<boolean> {
    try {
      const workspace = (await context.workspaces.read(workspaceId))?.workspace;
      if (workspace === undefined || deliveryMode(workspace) !== "push") return true;
      return activeKeys(workspace, now()).length > 0;
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      context.report("dispatch", error);
      return false;
    }
  }

  function nextStep(first: FirstAttempts): FirstAttemptStep | undefined {
    return attempts.isFull ? undefined : first.next(performance.now());
  }

  function begin(push: QueuedPush): void {
    context.pushMeter?.waited(ageOf(push));
    attempts.begin(push);
  }
}
