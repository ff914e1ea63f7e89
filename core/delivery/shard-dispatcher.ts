import type { DropReason } from "../../contract/deliveries";
import { OwnerMap } from "../../runtime/owner-map";
import { createWaker } from "../domain/waker";
import type { PushOutcome } from "../domain/delivery";
import { missingKey } from "../domain/workspace";
import type { Lease } from "../leases/lease";
import type { PushMeter } from "../ports/meters";
import type { PushHandoff, QueuePosition } from "../ports/push-handoff";
import type { QueueRead } from "../ports/push-queue";
import { StoreUnavailable } from "../ports/store-faults";
import type { Workspaces } from "../ports/workspaces";
import { AFTER_FAULT_MS, createCurrentWorkspaces } from "./current-workspaces";
import {
  EventPush,
  type AttemptOutcome,
  type EventPushContext,
  type PushShard,
  type PushState,
} from "./event-push";
import { createRestingWorkspaces, type QueueSize } from "./resting-workspaces";
import { FORGET_WORKSPACES_AT, ShardQueue } from "./shard-queue";
import { WorkspaceTurns, type Turn, type Turns } from "./turns";

export interface DispatcherContext extends EventPushContext, QueueSize {
  readonly workspaces: Workspaces;
  readonly pushMeter?: PushMeter;
  /** Hands over the events that this core publishes. Without `pushHandoff`, core reads them from the queue. */
  readonly pushHandoff?: PushHandoff;
  /**
   * Called when the pushes of a workspace begin to wait, because core lacks the key that decrypts the workspace's
   * secret.
   */
  onUnreadable(workspaceId: string, missingKey: string): void;
}

const LOOK_EVERY_MS = 1_000;
/** Core does not begin first attempts while this many outcomes wait to be recorded. */
const UNRECORDED_MAX = 1_000;
/**
 * Minimum milliseconds for which a failed attempt counts as in progress. Without this minimum, if a bridge refuses
 * connections, thousands of events per second could each fail three times.
 */
const FAILED_ATTEMPT_MS = 200;

/** Pushes the events of one shard while the shard's lease is held. Resolves when the work on the shard has stopped. */
export function dispatchShard(context: DispatcherContext, lease: Lease): Promise<void> {
  return new ShardDispatcher(context, lease).run();
}

/**
 * Reads the events of a shard in the order of publication, while there is room in memory, and gives each `EventPush`
 * its turns. A diagram in event-push.ts shows the states of an event.
 *
 * A first attempt uses a version of the workspace that was read after the event was published, and at most `FRESH_MS`
 * before the attempt. A retry reads the workspace again. An attempt does not wait until the outcome of the previous
 * event is recorded. If the store is unavailable, core records the outcome later. When the work on the shard must
 * stop, core finishes the attempts in progress, and records their outcomes. If the lease is lost before an outcome is
 * recorded, the next holder repeats the attempt, and the bridge recognizes the repeated event by its id.
 *
 * The events that this core itself publishes are handed over directly, if the queue contains no earlier unread event.
 * Other events are read from the queue.
 *
 * While core cannot decrypt the secrets of a workspace, the workspace rests: its events stay in the queue, and core
 * tries to decrypt the secrets again after growing pauses.
 */
class ShardDispatcher implements PushShard {
  readonly context: DispatcherContext;
  readonly lease: Lease;
  readonly current;
  readonly #waker = createWaker();
  readonly #queue;
  readonly #resting;
  /**
   * The turns of each workspace that has an event in memory, keyed by workspace id. The map also contains some
   * workspaces without events.
   */
  readonly #turns = new OwnerMap(
    () => new WorkspaceTurns<EventPush>(),
    ({ isIdle }) => isIdle,
    FORGET_WORKSPACES_AT,
  );
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Number of outcomes that wait to be recorded. */
  #unrecorded = 0;
  /** Number of attempts and drops whose outcomes are not recorded yet. */
  #inProgress = 0;
  #onIdle: (() => void) | undefined;

  constructor(context: DispatcherContext, lease: Lease) {
    this.context = context;
    this.lease = lease;
    this.current = createCurrentWorkspaces(context, lease.over);
    this.#queue = new ShardQueue(context, lease);
    this.#resting = createRestingWorkspaces(context);
  }

  async run(): Promise<void> {
    const { pushQueue, pushMeter, pushHandoff } = this.context;
    const { shard, stopping } = this.lease;
    const stopHandoff = pushHandoff?.add(shard, {
      position: () => this.#queue.position,
      take: (position, read, readAt) => this.#takePublished(position, read, readAt),
      look: this.#waker.wake,
    });
    const stopWakes = pushQueue.onWake((woken) => {
      if (woken === shard) this.#waker.wake();
    });
    const stopWatch = pushMeter?.watch(() => {
      let waiting = 0;
      for (const [, { first }] of this.#turns.entries()) waiting += first.waiting;
      return { waiting, bytes: this.#queue.inHand.bytes };
    });
    stopping.addEventListener("abort", this.#waker.wake, { once: true });
    while (!stopping.aborted) {
      const pauseMs = await this.#look();
      if (pauseMs > 0) await this.#waker.wait(pauseMs);
    }
    stopHandoff?.();
    stopWakes();
    for (const timer of this.#timers) clearTimeout(timer);
    if (this.#inProgress > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    stopWatch?.();
  }

  /** Reads the queue once, if there is room in memory. Returns the milliseconds to wait before the next look. */
  async #look(): Promise<number> {
    try {
      // Rests end only between two reads, because a read in progress may miss the events that stayed in the queue.
      if (await this.#endRests()) this.#queue.readAgain();
      if (this.#queue.isFull) {
        this.#advanceAll();
        return LOOK_EVERY_MS;
      }
      const readAt = performance.now();
      const read = await this.#queue.read();
      if (read !== undefined) return this.#take(read, readAt);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) this.context.report("dispatch", error);
    }
    this.#queue.failed();
    return AFTER_FAULT_MS;
  }

  /** Takes the next events in the queue, which this core has just published. */
  #takePublished(position: QueuePosition, read: QueueRead, readAt: number): void {
    const last = read.pushes.at(-1)?.entryId;
    // Redis sent no wake for these events, so the dispatcher must now read the events from the queue.
    if (this.lease.stopping.aborted || !this.#queue.move(position, last)) return this.#waker.wake();
    this.#take(read, readAt);
  }

  #take({ pushes, versions, isEnd }: QueueRead, readAt: number): number {
    // The workspaces in `current` may have been read before these events were published, and are then too old for the
    // events' first attempts.
    if (pushes.length > 0) this.current.renew(versions, readAt);
    for (const event of pushes) if (this.#queue.inHand.take(event)) this.#add(new EventPush(this, event));
    if (!isEnd) return 0;
    this.#queue.caughtUp(readAt);
    this.#advanceAll();
    return LOOK_EVERY_MS;
  }

  #add(push: EventPush): void {
    const { workspaceId } = push.event;
    if (this.#resting.has(workspaceId)) return this.#shelve(push);
    if (push.state === "resting") return this.#addWhenDue(push);
    const { inHand } = this.#queue;
    const since = this.#queue.publishedAt(push.event);
    if (!inHand.isOver(workspaceId) && this.#turns.of(workspaceId).first.add(push, since)) {
      this.#advance(workspaceId);
    } else void this.#settle(push, "overloaded");
  }

  #addWhenDue(push: EventPush): void {
    const { workspaceId } = push.event;
    this.#later(push.dueAt - performance.now(), () => {
      push.wait();
      this.#turns.of(workspaceId).retries.add(push, performance.now());
      this.#advance(workspaceId);
    });
  }

  #advanceAll(): void {
    for (const [workspaceId, { isIdle }] of this.#turns.entries()) if (!isIdle) this.#advance(workspaceId);
  }

  /** Begins as many attempts for a workspace as there is room for, and drops the events that have waited too long. */
  #advance(workspaceId: string): void {
    const turns = this.#turns.get(workspaceId);
    if (turns === undefined || this.lease.stopping.aborted) return;
    if (this.#resting.has(workspaceId)) for (const push of turns.first.takeAll()) this.#shelve(push);
    for (let turn = this.#next(turns); turn !== undefined; turn = this.#next(turns)) {
      const { push, since } = turn;
      const isFirst = push.attempts === 0;
      if (turn.do === "drop") {
        void this.#settle(push, isFirst ? this.#queue.whyLate(since) : "overloaded");
        continue;
      }
      if (isFirst) this.context.pushMeter?.waited(this.#queue.ageOf(push.event));
      else this.context.pushMeter?.retried(performance.now() - push.dueAt);
      void this.#settle(push, this.#try(push));
    }
    if (turns.isIdle) this.#turns.idle(workspaceId);
  }

  #next({ first, retries }: WorkspaceTurns<EventPush>): Turn<EventPush> | undefined {
    const now = performance.now();
    return retries.next(now) ?? (this.#unrecorded < UNRECORDED_MAX ? first.next(now) : undefined);
  }

  /** Makes an attempt. The turn ends before the outcome is recorded. */
  async #try(push: EventPush): Promise<AttemptOutcome> {
    const { first, retries } = this.#turns.of(push.event.workspaceId);
    const turns = push.attempts === 0 ? first : retries;
    const began = performance.now();
    let restMs = 0;
    try {
      const outcome = await push.try();
      // The workspace's rest begins before the turn ends, so that no other first attempt begins for the workspace.
      if (outcome === "unreadable") this.#beginRest(push);
      if (typeof outcome === "object" && !outcome.ok) restMs = began + FAILED_ATTEMPT_MS - performance.now();
      return outcome;
    } finally {
      if (restMs > 0) this.#later(restMs, () => this.#endTurn(turns, push));
      else this.#endTurn(turns, push);
    }
  }

  #endTurn(turns: Turns<EventPush>, push: EventPush): void {
    turns.end(push);
    this.#advance(push.event.workspaceId);
  }

  /**
   * Works on an event until core has recorded a drop or the outcome of an attempt. Never rejects. A drop counts as
   * unrecorded when `#settle` returns, so that `#advance` stops at `UNRECORDED_MAX` drops.
   */
  async #settle(push: EventPush, result: Promise<AttemptOutcome> | DropReason): Promise<void> {
    this.#inProgress += 1;
    try {
      const outcome = typeof result === "string" ? result : await result;
      if (outcome !== "unreadable" && outcome !== "stopped") {
        const became = await this.#record(push, outcome);
        if (became === "waiting") this.#add(push);
        else if (became === "gone" || became === "left") this.#letGo(push);
      }
    } catch (error) {
      this.context.report("push", error);
      push.leave();
      this.#letGo(push);
    }
    this.#inProgress -= 1;
    if (this.#inProgress === 0) this.#onIdle?.();
  }

  /**
   * Records an outcome. Returns the state to which the outcome led; undefined if the lease was lost before the outcome
   * was recorded.
   */
  async #record(push: EventPush, outcome: PushOutcome | DropReason): Promise<PushState | undefined> {
    if (push.recorded !== undefined) await push.recorded;
    push.conclude(outcome);
    if (push.state === "resting") this.#addWhenDue(push);
    this.#unrecorded += 1;
    try {
      return await push.recorded;
    } finally {
      this.#unrecorded -= 1;
      if (this.#unrecorded === UNRECORDED_MAX - 1) this.#advanceAll();
    }
  }

  #letGo({ state, event }: EventPush): void {
    const wasFull = this.#queue.isFull;
    if (state === "left") this.#queue.inHand.abandon(event);
    else this.#queue.inHand.finish(event);
    if (wasFull && !this.#queue.isFull) this.#waker.wake();
  }

  #later(ms: number, task: () => void): void {
    if (this.lease.stopping.aborted) return;
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        task();
      },
      Math.max(0, ms),
    );
    this.#timers.add(timer);
  }

  #beginRest(push: EventPush): void {
    const { workspaceId } = push.event;
    if (!this.#resting.has(workspaceId)) {
      const { workspaces, now, onUnreadable } = this.context;
      this.#resting.begin(workspaceId);
      const workspace = workspaces.recall(workspaceId)?.workspace;
      onUnreadable(workspaceId, (workspace && missingKey(workspace, now())) ?? "unknown");
    }
    this.#shelve(push);
  }

  /** Leaves an event of a resting workspace in the queue, or drops the event if the workspace has used up its share. */
  #shelve(push: EventPush): void {
    if (!this.#resting.add(push.event, push.attempts)) return void this.#settle(push, "overloaded");
    push.leave();
    this.#letGo(push);
  }

  /** Ends the rests of the workspaces to which core can push again. Returns true if the queue must be read again. */
  async #endRests(): Promise<boolean> {
    let isAny = false;
    for (const workspaceId of this.#resting.due()) {
      if (await this.current.isReadable(workspaceId)) {
        this.#queue.inHand.putBack(this.#resting.end(workspaceId));
        isAny = true;
      } else this.#resting.restAgain(workspaceId);
    }
    return isAny;
  }
}
