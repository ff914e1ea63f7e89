import { deliveryOf, dropOf, type Delivery, type DropReason, type PushOutcome } from "../domain/delivery";
import { RETRY_OFFSETS_MS } from "../domain/retry";
import type { Clock } from "../ports/clock";
import type { PushMeter } from "../ports/push-meter";
import type { PushQueue, QueuedPush, Recorded } from "../ports/push-queue";
import type { CurrentWorkspaces } from "./current-workspaces";
import type { Hold } from "./hold";
import { tryToPush, type AttemptOutcome } from "./push-attempt";
import type { PushClient } from "./push-client";
import { createPushRecorder } from "./push-recorder";

export interface EventAttemptsContext {
  readonly now: Clock;
  readonly pushQueue: PushQueue;
  readonly pushClient: PushClient;
  readonly pushMeter?: PushMeter;
  /** Called for every event that is given up, with its reason. */
  onDrop(push: QueuedPush, reason: DropReason | "failed"): void;
  /** Called with faults that are bugs. */
  report(where: string, error: unknown): void;
}

export interface EventAttemptsListener {
  /** The first attempt of an event is over, and not recorded yet. */
  onTried(push: QueuedPush): void;
  /** Nothing more is done about an event. When that is not recorded ("lost"), the event is still queued. */
  onGone(push: QueuedPush, recorded: Recorded): void;
  /** An event that was to be held has to be pushed after all: its workspace is pushed to again. */
  onPushedAgain(push: QueuedPush): void;
  /** There is room for outcomes again. */
  onRoom(): void;
}

/** The attempts to push the events of a shard, from an event's first one until the event is gone. */
export interface EventAttempts {
  /** Whether so many outcomes wait to be recorded that no first attempt may begin. */
  readonly isFull: boolean;
  /** Makes the first attempt at once, and further ones as they are due. */
  begin(push: QueuedPush): void;
  /** Makes the attempts that remain of an event that has been tried before. */
  resume(push: QueuedPush): void;
  /** Gives up an event that was never tried. */
  drop(push: QueuedPush, reason: DropReason): void;
  /** Begins no more further attempts. Resolves when those that are under way are over. */
  end(): Promise<void>;
}

/** An event that is tried, for all of its attempts. */
interface Trial {
  readonly push: QueuedPush;
  /** The number of the attempt that is under way, or due next. */
  number: number;
  firstFailure: FirstFailure | undefined;
  /** The record of the attempt before, after which this one's goes. */
  recorded: Promise<Recorded> | undefined;
}

/** When the first attempt of an event failed. */
interface FirstFailure {
  /** By the service's clock, for the next holder of the shard. */
  readonly atMs: number;
  /** By performance.now(), as clocks step. */
  readonly at: number;
}

/** For how long a workspace that was read will do for first attempts. */
const FRESH_MS = 50;

export function createEventAttempts(
  context: EventAttemptsContext,
  hold: Hold,
  current: CurrentWorkspaces,
  { onTried, onGone, onPushedAgain, onRoom }: EventAttemptsListener,
): EventAttempts {
  const { now, pushMeter } = context;
  const recorder = createPushRecorder(context, hold, onRoom);
  const timers = new Set<NodeJS.Timeout>();
  let underWay = 0;
  let onIdle: (() => void) | undefined;

  /** Reports what fails in the work on an event, which nothing but `end` waits for. */
  async function watch(push: QueuedPush, work: Promise<void>): Promise<void> {
    underWay += 1;
    try {
      await work;
    } catch (error) {
      context.report("push", error);
      onGone(push, "lost");
    }
    underWay -= 1;
    if (underWay === 0) onIdle?.();
  }

  async function attempt(trial: Trial): Promise<void> {
    const { push, number } = trial;
    let outcome: AttemptOutcome;
    try {
      outcome = await tryToPush(context, current, hold, push, number === 1 ? FRESH_MS : 0);
    } finally {
      if (number === 1) onTried(push);
    }
    if (trial.recorded !== undefined) await trial.recorded;
    if (!hold.lost.aborted && outcome !== undefined) await conclude(trial, outcome);
  }

  /** Records what came of an attempt, and sees to what is to come. */
  function conclude(trial: Trial, outcome: PushOutcome | DropReason): Promise<void> {
    const { push, number } = trial;
    if (typeof outcome === "string") {
      // Never sent, and its workspace polls already: the event is held instead. Any other is given up.
      return outcome === "polls" && number === 1 ? holdInstead(push) : giveUp(push, number - 1, outcome);
    }
    const delivery = deliveryOf(push.eventId, push.eventType, number, outcome);
    if (outcome.ok) return finish(push, delivery);
    if (push.isRetried && number <= RETRY_OFFSETS_MS.length) return retry(trial, delivery);
    context.onDrop(push, "failed");
    return finish(push, delivery);
  }

  async function retry(trial: Trial, delivery: Delivery): Promise<void> {
    const { push, number } = trial;
    trial.firstFailure ??= { atMs: now(), at: performance.now() };
    const next = { do: "retry", attempts: number, firstFailedAtMs: trial.firstFailure.atMs } as const;
    const recorded = recorder.record({ push, delivery, next });
    trial.recorded = recorded;
    rest(trial, trial.firstFailure);
    await recorded;
  }

  /** Waits until the next attempt is due. */
  function rest(trial: Trial, { at }: FirstFailure): void {
    if (hold.stopping.aborted) return;
    const dueAt = at + (RETRY_OFFSETS_MS[trial.number - 1] ?? 0);
    trial.number += 1;
    const timer = setTimeout(
      () => {
        timers.delete(timer);
        pushMeter?.retried(performance.now() - dueAt);
        void watch(trial.push, attempt(trial));
      },
      Math.max(0, dueAt - performance.now()),
    );
    timers.add(timer);
  }

  async function finish(push: QueuedPush, delivery: Delivery): Promise<void> {
    onGone(push, await recorder.record({ push, delivery, next: { do: "done" } }));
  }

  async function holdInstead(push: QueuedPush): Promise<void> {
    const recorded = await recorder.record({ push, delivery: undefined, next: { do: "hold" } });
    if (recorded === "polls" || recorded === "disconnected") context.onDrop(push, recorded);
    if (recorded === "pushed") onPushedAgain(push);
    else onGone(push, recorded);
  }

  async function giveUp(push: QueuedPush, attempts: number, reason: DropReason): Promise<void> {
    context.onDrop(push, reason);
    await finish(push, dropOf(push.eventId, push.eventType, attempts, reason));
  }

  return {
    get isFull() {
      return recorder.isFull;
    },
    begin: (push) =>
      void watch(push, attempt({ push, number: 1, firstFailure: undefined, recorded: undefined })),
    resume(push) {
      const atMs = push.firstFailedAtMs;
      const firstFailure = { atMs, at: performance.now() - Math.max(0, now() - atMs) };
      rest({ push, number: push.attempts, firstFailure, recorded: undefined }, firstFailure);
    },
    drop: (push, reason) => void watch(push, giveUp(push, 0, reason)),
    end() {
      for (const timer of timers) clearTimeout(timer);
      return new Promise((resolve) => {
        if (underWay === 0) resolve();
        else onIdle = resolve;
      });
    },
  };
}
