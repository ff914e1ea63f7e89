import { createBell } from "../domain/bell";
import { deliveryOf, type Delivery, type DropReason, type PushOutcome } from "../domain/delivery";
import { RETRY_OFFSETS_MS } from "../domain/retry";
import { signatureHeader } from "../domain/signature";
import { activeKeys, deliveryMode } from "../domain/workspace";
import type { Clock } from "../ports/clock";
import type { PushQueue, PushRecord, QueuedPush } from "../ports/push-queue";
import { StoreUnavailable } from "../ports/store-unavailable";
import type { Workspaces } from "../ports/workspaces";
import type { Hold } from "./hold";
import type { PushClient } from "./push-client";
import { createWorkspaceLane, type WorkspaceLane } from "./workspace-lane";

export interface DispatcherContext {
  readonly now: Clock;
  readonly workspaces: Workspaces;
  readonly pushQueue: PushQueue;
  readonly pushClient: PushClient;
  /** Told of every event that is given up, with its reason. */
  onDrop(push: QueuedPush, reason: DropReason | "failed"): void;
  /** Told of faults that are bugs. */
  report(where: string, error: unknown): void;
}

const LOOK_EVERY_MS = 1_000;
const AFTER_FAULT_MS = 200;

/**
 * Pushes the events of one shard, for as long as its lease is held.
 *
 * An event goes through these states:
 *
 *   queued   in the store; read in the order of publication
 *   waiting  in the lane of its workspace, for its first attempt
 *   trying   an attempt is under way
 *   resting  until a second or third attempt is due, by a timer; the store knows
 *            how many were made and when the first failed, so that the next holder
 *            of the shard makes the ones that remain
 *   gone     delivered, dropped with a reason, or held after all, as its workspace
 *            polls by now; recorded, which takes it out of the queue
 *
 * Every attempt is made by what the workspace is at that moment. What could not be
 * recorded because the store is away is recorded later; when the lease is lost
 * first, the next holder makes that attempt again, which bridges tell by its id.
 */
export async function dispatchShard(
  context: DispatcherContext,
  { shard, token, stopping, lost }: Hold,
): Promise<void> {
  const { pushQueue, now } = context;
  const bell = createBell();
  const lanes = new Map<string, WorkspaceLane>();
  const timers = new Set<NodeJS.Timeout>();
  const underWay = new Set<Promise<void>>();
  const stopWakes = pushQueue.onWake((woken) => {
    if (woken === shard) bell.ring();
  });
  stopping.addEventListener("abort", bell.ring, { once: true });

  let after: string | undefined;
  while (!stopping.aborted) {
    try {
      const pushes = await pushQueue.read(token, shard, after);
      if (pushes === undefined) {
        // Another's, or forgotten by a store that lost it: which of the two, the holder of the lease finds out.
        await bell.wait(AFTER_FAULT_MS);
        continue;
      }
      for (const push of pushes) take(push);
      after = pushes.at(-1)?.entryId ?? after;
      if (pushes.length > 0) continue;
      for (const workspaceId of lanes.keys()) advance(workspaceId);
      await bell.wait(LOOK_EVERY_MS);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) context.report("dispatch", error);
      await bell.wait(AFTER_FAULT_MS);
    }
  }
  stopWakes();
  for (const timer of timers) clearTimeout(timer);
  await Promise.allSettled(underWay);

  function take(push: QueuedPush): void {
    if (push.attempts > 0) return rest(push, push.attempts, push.firstFailedAtMs);
    const lane = lanes.get(push.workspaceId) ?? createWorkspaceLane();
    lanes.set(push.workspaceId, lane);
    if (lane.add(push, performance.now())) advance(push.workspaceId);
    else begin(drop(push, 0, "overloaded"));
  }

  function advance(workspaceId: string): void {
    const lane = lanes.get(workspaceId);
    if (lane === undefined || stopping.aborted) return;
    for (let step = lane.next(performance.now()); step !== undefined; step = lane.next(performance.now())) {
      const { push } = step;
      if (step.do === "drop") begin(drop(push, 0, "overloaded"));
      else begin(attempt(push, 1, 0).finally(() => endFirst(push, lane)));
    }
    if (lane.isIdle) lanes.delete(workspaceId);
  }

  function endFirst(push: QueuedPush, lane: WorkspaceLane): void {
    lane.end(push);
    advance(push.workspaceId);
  }

  function begin(work: Promise<void>): void {
    const settled = work
      .catch((error: unknown) => context.report("push", error))
      .finally(() => underWay.delete(settled));
    underWay.add(settled);
  }

  /** Waits until the attempt after the `made` ones is due, whose record goes after the last one's. */
  function rest(push: QueuedPush, made: number, firstFailedAtMs: number, recorded?: Promise<string>): void {
    if (stopping.aborted) return;
    const dueAtMs = firstFailedAtMs + (RETRY_OFFSETS_MS[made - 1] ?? 0);
    const timer = setTimeout(
      () => {
        timers.delete(timer);
        begin(attempt(push, made + 1, firstFailedAtMs, recorded));
      },
      Math.max(0, dueAtMs - now()),
    );
    timers.add(timer);
  }

  async function attempt(
    push: QueuedPush,
    number: number,
    firstFailedAtMs: number,
    recorded?: Promise<string>,
  ): Promise<void> {
    const outcome = await tryToPush(push);
    await recorded;
    if (lost.aborted || outcome === undefined) return;
    if (typeof outcome === "string") {
      // Never sent, and polled for by now: it waits with the held ones. Else it is given up.
      if (outcome === "polls" && number === 1) await holdInstead(push);
      else await drop(push, number - 1, outcome);
      return;
    }
    const delivery = deliveryOf(push.eventId, push.eventType, number, outcome);
    const failedAtMs = number === 1 ? now() : firstFailedAtMs;
    if (!outcome.ok && push.isRetried && number <= RETRY_OFFSETS_MS.length) {
      const next = { do: "retry", attempts: number, firstFailedAtMs: failedAtMs } as const;
      const written = record({ push, delivery, next });
      rest(push, number, failedAtMs, written);
      await written;
      return;
    }
    if (!outcome.ok) context.onDrop(push, "failed");
    await record({ push, delivery, next: { do: "done" } });
  }

  /** One attempt by what the workspace is now, or why there is none; undefined when the lease was lost meanwhile. */
  async function tryToPush(push: QueuedPush): Promise<PushOutcome | DropReason | undefined> {
    const workspace = await currentWorkspace(push.workspaceId);
    if (lost.aborted) return undefined;
    if (workspace === undefined || deliveryMode(workspace) === "none") return "disconnected";
    if (deliveryMode(workspace) === "poll") return "polls";
    const nowMs = now();
    if (push.expiresAtMs !== null && push.expiresAtMs <= nowMs) return "expired";
    return context.pushClient.push({
      url: new URL(workspace.targetUrl),
      eventId: push.eventId,
      workspaceId: push.workspaceId,
      signature: signatureHeader(push.envelope, activeKeys(workspace, nowMs), nowMs),
      envelope: push.envelope,
    });
  }

  /**
   * The workspace as the store has it; as it was last read when the store is away,
   * which is waited for when it never was. Undefined also when the lease is lost.
   */
  async function currentWorkspace(id: string) {
    while (!lost.aborted) {
      let pauseMs = AFTER_FAULT_MS;
      try {
        return (await context.workspaces.read(id))?.workspace;
      } catch (error) {
        const known = context.workspaces.recall(id);
        if (!(error instanceof StoreUnavailable)) {
          context.report("dispatch", error);
          pauseMs = LOOK_EVERY_MS;
        }
        if (known !== undefined) return known.workspace;
      }
      await pause(pauseMs);
    }
    return undefined;
  }

  async function holdInstead(push: QueuedPush): Promise<void> {
    const recorded = await record({ push, delivery: undefined, next: { do: "hold" } });
    if (recorded === "pushed") take(push);
  }

  async function drop(push: QueuedPush, attempts: number, reason: DropReason): Promise<void> {
    context.onDrop(push, reason);
    await record({ push, delivery: dropped(push, attempts, reason), next: { do: "done" } });
  }

  /** Records, for as long as it takes and the lease is held. */
  async function record(item: PushRecord): Promise<string> {
    while (!lost.aborted) {
      try {
        return await pushQueue.record(token, shard, item);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) {
          context.report("record", error);
          return "lost";
        }
      }
      await pause(AFTER_FAULT_MS);
    }
    return "lost";
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function dropped(push: QueuedPush, attempts: number, reason: DropReason): Delivery {
  return {
    eventId: push.eventId,
    eventType: push.eventType,
    attempt: attempts,
    result: reason,
    status: undefined,
    latencyMs: 0,
    address: undefined,
  };
}
