import { type DropReason, RESULT_MEANINGS } from "../../contract/deliveries";
import { deliveryOf, type Delivery, type PushOutcome, type ResponseStart } from "../domain/delivery";
import { RETRY_OFFSETS_MS } from "../../contract/numbers";
import type { PushMeter } from "../ports/meters";
import type { PushQueue, PushRecord, QueuedPush, Recorded } from "../ports/push-queue";
import type { CurrentWorkspaces } from "./current-workspaces";
import type { Lease } from "../leases/lease";
import { tryToPush, type AttemptOutcome, type PushAttemptContext } from "./push-attempt";
import { createPushRecorder } from "./push-recorder";
import { createRetryTurns } from "./retry-turns";

export interface EventAttemptsContext extends PushAttemptContext {
  readonly pushQueue: PushQueue;
  readonly pushMeter?: PushMeter;
  /** Called for every event that is dropped, with the reason. */
  onDrop(push: QueuedPush, reason: DropReason | "failed"): void;
  /** Called with every unexpected error. Such an error is a bug. */
  report(where: string, error: unknown): void;
}

export interface EventAttemptsListener {
  /** Called when the first attempt of an event is over. The outcome of the attempt is not recorded yet. */
  onTried(push: QueuedPush): void;
  /** Called when core's work on an event is over. If `recorded` is "lost", the event may still be queued. */
  onGone(push: QueuedPush, recorded: Recorded): void;
  /** Called when an event must stay in the queue, because core cannot decrypt the secrets of its workspace. */
  onUnreadable(push: QueuedPush): void;
  /** Called when an event must be pushed instead of held, because its workspace is a push workspace again. */
  onPushedAgain(push: QueuedPush): void;
  /** Called when the recorder has room again, so that first attempts can begin. */
  onRoom(): void;
}

/** All attempts of one event. */
interface Trial {
  readonly push: QueuedPush;
  /** The number of the attempt that is in progress or due next. */
  number: number;
  firstFailure: FirstFailure | undefined;
  /**
   * Resolves when the outcome of the previous attempt is recorded. Outcomes are recorded in the order of the
   * attempts.
   */
  recorded: Promise<Recorded> | undefined;
}

/** The time at which the first attempt of an event failed, on two clocks. */
interface FirstFailure {
  /** Milliseconds since the epoch on the service clock. The store keeps this time for the next holder of the shard's lease. */
  readonly atMs: number;
  /** Milliseconds on `performance.now()`, which never jumps. */
  readonly at: number;
}

/** Milliseconds for which the first attempts of a workspace's events share one read of the workspace. */
const FRESH_MS = 50;
/**
 * Minimum milliseconds for which a failed attempt counts as in progress. Without this time, a bridge that refuses
 * connections would fail thousands of events per second, three times each.
 */
const FAILED_ATTEMPT_MS = 200;

/** Returns when the retry `number` of an event is due, on `performance.now()`. */
function dueAtOf({ number, firstFailure }: Trial): number {
  return (firstFailure?.at ?? 0) + (RETRY_OFFSETS_MS[number - 2] ?? 0);
}

/** Makes all attempts to push the events of a shard. */
export function createEventAttempts(
  context: EventAttemptsContext,
  lease: Lease,
  current: CurrentWorkspaces,
  { onTried, onGone, onUnreadable, onPushedAgain, onRoom }: EventAttemptsListener,
) {
  const { now, pushMeter } = context;
  const recorder = createPushRecorder(context, lease, onRoom);
  const timers = new Set<NodeJS.Timeout>();
  const retryTurns = createRetryTurns<Trial>({
    start: (trial) => {
      pushMeter?.retried(performance.now() - dueAtOf(trial));
      void watch(trial.push, attempt(trial));
    },
    drop: (trial) => void watch(trial.push, dropRetry(trial)),
  });
  let inProgress = 0;
  let onIdle: (() => void) | undefined;

  /**
   * Awaits the work on an event, and reports the error if the work fails. Callers do not await `watch`; `end`
   * waits for all work.
   */
  async function watch(push: QueuedPush, work: Promise<void>): Promise<void> {
    inProgress += 1;
    try {
      await work;
    } catch (error) {
      context.report("push", error);
      onGone(push, "lost");
    }
    inProgress -= 1;
    if (inProgress === 0) onIdle?.();
  }

  async function attempt(trial: Trial): Promise<void> {
    const { push, number } = trial;
    const began = performance.now();
    let outcome: AttemptOutcome;
    try {
      outcome = await tryToPush(context, current, lease, push, number, number === 1 ? FRESH_MS : 0);
      // This call precedes `endTurn`, which begins the next attempt of the workspace.
      if (outcome === "unreadable") return onUnreadable(push);
    } finally {
      const isFailed = typeof outcome === "object" && !outcome.ok;
      const restMs = isFailed ? began + FAILED_ATTEMPT_MS - performance.now() : 0;
      if (restMs > 0) later(restMs, () => endTurn(push, number));
      else endTurn(push, number);
    }
    if (trial.recorded !== undefined) await trial.recorded;
    if (!lease.over.aborted && outcome !== undefined) await conclude(trial, outcome);
  }

  /** Lets the next attempt of the workspace begin. */
  function endTurn(push: QueuedPush, number: number): void {
    if (number === 1) onTried(push);
    else retryTurns.end(push.workspaceId);
  }

  /** Records the outcome of an attempt, and starts the next step of the event. */
  function conclude(trial: Trial, outcome: PushOutcome | DropReason): Promise<void> {
    const { push, number } = trial;
    if (typeof outcome === "string") {
      // If the event was never sent and the workspace polls now, the event is held. Otherwise the event is
      // dropped.
      return outcome === "polls" && number === 1 ? holdInstead(push) : giveUp(push, number - 1, outcome);
    }
    const delivery = deliveryOf(push.eventId, push.eventType, number, outcome);
    if (outcome.ok) return finish({ push, delivery, next: { do: "done" } });
    const { response } = outcome;
    if (push.isRetried && number <= RETRY_OFFSETS_MS.length) return retry(trial, delivery, response);
    context.onDrop(push, "failed");
    return finish({ push, delivery, response, next: { do: "keep" } });
  }

  async function retry(trial: Trial, delivery: Delivery, response: ResponseStart | undefined): Promise<void> {
    const { push, number } = trial;
    trial.firstFailure ??= { atMs: now(), at: performance.now() };
    const next = { do: "retry", attempts: number, firstFailedAtMs: trial.firstFailure.atMs } as const;
    const recorded = recorder.record({ push, delivery, response, next });
    trial.recorded = recorded;
    rest(trial);
    await recorded;
  }

  /** Sets the timer of the next attempt, unless core must stop the work on the shard. */
  function rest(trial: Trial): void {
    if (lease.stopping.aborted) return;
    trial.number += 1;
    later(dueAtOf(trial) - performance.now(), () => retryTurns.add(trial.push.workspaceId, trial));
  }

  function later(ms: number, task: () => void): void {
    const timer = setTimeout(
      () => {
        timers.delete(timer);
        task();
      },
      Math.max(0, ms),
    );
    timers.add(timer);
  }

  async function dropRetry({ push, number, recorded }: Trial): Promise<void> {
    if (recorded !== undefined) await recorded;
    if (!lease.over.aborted) await giveUp(push, number - 1, "overloaded");
  }

  async function finish(record: PushRecord): Promise<void> {
    onGone(record.push, await recorder.record(record));
  }

  async function holdInstead(push: QueuedPush): Promise<void> {
    const recorded = await recorder.record({ push, delivery: undefined, next: { do: "hold" } });
    if (recorded === "polls" || recorded === "disconnected") context.onDrop(push, recorded);
    if (recorded === "pushed") onPushedAgain(push);
    else onGone(push, recorded);
  }

  async function giveUp(push: QueuedPush, attempts: number, reason: DropReason): Promise<void> {
    context.onDrop(push, reason);
    const delivery = deliveryOf(push.eventId, push.eventType, attempts, reason);
    await finish({ push, delivery, next: { do: RESULT_MEANINGS[reason].isKept ? "keep" : "done" } });
  }

  return {
    /** Whether too many outcomes wait to be recorded. If so, no first attempt should begin. */
    get isFull() {
      return recorder.isFull;
    },
    /** Makes the first attempt immediately, and each retry when it is due. */
    begin: (push: QueuedPush) =>
      void watch(push, attempt({ push, number: 1, firstFailure: undefined, recorded: undefined })),
    /** Makes the remaining attempts of an event that was already tried. */
    resume(push: QueuedPush): void {
      const atMs = push.firstFailedAtMs;
      const firstFailure = { atMs, at: performance.now() - Math.max(0, now() - atMs) };
      rest({ push, number: push.attempts, firstFailure, recorded: undefined });
    },
    /** Must be called every second. Drops the events whose retries have waited too long for their turns. */
    dropLate: retryTurns.dropLate,
    /** Drops an event that was never tried. */
    drop: (push: QueuedPush, reason: DropReason) => void watch(push, giveUp(push, 0, reason)),
    /** Cancels the retries that are not due yet. Resolves when no work is in progress. */
    end(): Promise<void> {
      for (const timer of timers) clearTimeout(timer);
      retryTurns.clear();
      return new Promise((resolve) => {
        if (inProgress === 0) resolve();
        else onIdle = resolve;
      });
    },
  };
}
