import { type DropReason, RESULT_MEANINGS } from "../../contract/deliveries";
import { RETRY_OFFSETS_MS } from "../../contract/numbers";
import type { Span, Tracer } from "../../runtime/tracing/tracer";
import { deliveryOf, type LoggedEvent, type PushOutcome } from "../domain/delivery";
import { summarize } from "../domain/event-summary";
import type { HmacKey } from "../domain/hmac-key";
import { signatureHeader } from "../domain/signature";
import { activeKeys, deliveryMode, type Workspace } from "../domain/workspace";
import type { Lease } from "../leases/lease";
import type { HourCounts } from "../ports/hour-counts";
import type { Clock } from "../ports/outside";
import type { PushQueue, PushRecord, QueuedPush, Recorded } from "../ports/push-queue";
import { StoreUnavailable } from "../ports/store-faults";
import { AFTER_FAULT_MS, pause, type CurrentWorkspace, type CurrentWorkspaces } from "./current-workspaces";
import type { PushClient } from "./push-client";

export interface EventPushContext {
  readonly now: Clock;
  readonly pushQueue: PushQueue;
  readonly pushClient: PushClient;
  readonly tracer?: Tracer | undefined;
  readonly hourCounts?: Pick<HourCounts, "add">;
  /** Called for every event that is dropped, with the reason. */
  onDrop(push: QueuedPush, reason: DropReason | "failed"): void;
  /** Called with every unexpected error. Such an error is a bug. */
  report(where: string, error: unknown): void;
}

/** The objects that all pushes of a shard share. */
export interface PushShard {
  readonly context: EventPushContext;
  readonly lease: Lease;
  readonly current: CurrentWorkspaces;
}

/**
 * The outcome of an attempt, or the reason why the attempt was not made:
 * - a `DropReason`: the event cannot be pushed.
 * - "unreadable": core cannot decrypt the workspace's secrets, so the event must stay in the queue.
 * - "stopped": the work on the shard had to stop before the attempt.
 */
export type AttemptOutcome = PushOutcome | DropReason | "unreadable" | "stopped";

export type PushState = "waiting" | "trying" | "resting" | "recording" | "gone" | "left";

/** The allowed transitions. */
const NEXT: Readonly<Record<PushState, readonly PushState[]>> = {
  waiting: ["trying", "recording", "left"],
  trying: ["resting", "recording", "waiting", "left"],
  resting: ["waiting", "left"],
  recording: ["gone", "waiting", "left"],
  gone: [],
  left: [],
};

/** Milliseconds for which the first attempts of a workspace's events share one read of the workspace. */
const FRESH_MS = 50;

/** The time at which the first attempt to push an event failed, on two clocks. */
interface FirstFailure {
  /** Milliseconds since the epoch on the service clock. The store keeps this time for the next holder of the shard's lease. */
  readonly atMs: number;
  /** Milliseconds on `performance.now()`, which never jumps. */
  readonly at: number;
}

/**
 * One event from a shard's push queue, while this core works on the event: one webhook with its retries. The shard's
 * dispatcher decides when the event has a turn. Delivery is at least once: after a crash, the next holder of the lease
 * repeats an attempt with the same event id. Failed attempts do not pause a workspace: there is no circuit breaker.
 *
 *                           held, but the workspace is a push workspace again
 *                 ┌────────────────────────────────────────────────────────────────┐
 *                 ▼         its turn      delivered, failed for good, dropped, held │   recorded
 *   queue ─────▶ waiting ───────────▶ trying ────────────────────────────▶ recording ──────────▶ gone
 *                 ▲ │ ▲   unreadable   │  │                                 ▲
 *                 │ │ └────────────────┘  │ failed, with a retry            │
 *                 │ └─────────────────────│─────────────────────────────────┘
 *          it is  │                       ▼        dropped before an attempt
 *           due   └─────────────────── resting ◀───── queue, if the event was already tried
 *
 * - waiting:   for a turn of its workspace: for the first attempt, or for a retry that is due.
 * - trying:    an attempt is in progress.
 * - resting:   until the next attempt is due. Meanwhile, the number of attempts and the time of the first failure are
 *              recorded, so that the next holder of the lease can make the remaining attempts.
 * - recording: the last outcome is being recorded, which removes the event from the queue.
 * - gone:      the event has left the queue: delivered, failed for good (and kept as a failed event), dropped with a
 *              reason, or held because its workspace polls now.
 * - left:      this core no longer works on the event, which is still in the queue: core cannot decrypt the workspace's
 *              secrets, the work on the shard had to stop, or the lease was lost. Every state except `gone` can lead
 *              here.
 */
export class EventPush {
  readonly event: QueuedPush;
  readonly #shard: PushShard;
  #state: PushState;
  #attempts: number;
  #firstFailure: FirstFailure | undefined;
  #recorded: Promise<PushState> | undefined;
  #logged: LoggedEvent | undefined;

  constructor(shard: PushShard, event: QueuedPush) {
    this.event = event;
    this.#shard = shard;
    this.#attempts = event.attempts;
    this.#state = event.attempts > 0 ? "resting" : "waiting";
    if (event.attempts > 0) {
      const atMs = event.firstFailedAtMs;
      const agoMs = Math.max(0, shard.context.now() - atMs);
      this.#firstFailure = { atMs, at: performance.now() - agoMs };
    }
  }

  get state(): PushState {
    return this.#state;
  }
  /**
   * Number of completed attempts, whose outcomes are known. Core gives up after the first attempt and all retries:
   * `#nextAfter`.
   */
  get attempts(): number {
    return this.#attempts;
  }
  /** The `performance.now()` time at which the next attempt of a resting event is due. */
  get dueAt(): number {
    return (this.#firstFailure?.at ?? 0) + (RETRY_OFFSETS_MS[this.#attempts - 1] ?? 0);
  }
  /**
   * Resolves when the last outcome is recorded, to the state after this outcome. The state is "resting" after a failure
   * that will be retried. Undefined before the first outcome.
   */
  get recorded(): Promise<PushState> | undefined {
    return this.#recorded;
  }

  #enter(next: PushState): void {
    if (!NEXT[this.#state].includes(next)) {
      throw new Error(`the push of an event cannot go from ${this.#state} to ${next}`);
    }
    this.#state = next;
  }

  /** Must be called when the event's retry is due. */
  wait(): void {
    this.#enter("waiting");
  }

  /** Ends this core's work on the event. The event stays in the queue. */
  leave(): void {
    if (this.#state !== "gone" && this.#state !== "left") this.#enter("left");
  }

  /**
   * Makes one attempt, with the current target URL and secrets of the workspace. Unless the outcome is "unreadable" or
   * "stopped", the caller must then call `conclude` with the outcome.
   */
  async try(): Promise<AttemptOutcome> {
    this.#enter("trying");
    const { event } = this;
    const { now, pushClient, tracer } = this.#shard.context;
    const { stopping, isOver } = this.#shard.lease;
    const workspace = await this.#shard.current.read(event.workspaceId, this.#attempts === 0 ? FRESH_MS : 0);
    if (stopping.aborted || isOver()) {
      this.leave();
      return "stopped";
    }
    const nowMs = now();
    const target = targetOf(event, workspace, nowMs);
    if (target === "unreadable") this.#enter("waiting");
    if (typeof target === "string") return target;
    const { url, keys } = target;
    const { traceparent } = event;
    const span = traceparent === undefined ? undefined : tracer?.start("push", "client", traceparent);
    const outcome = await pushClient.push({
      url,
      eventId: event.eventId,
      workspaceId: event.workspaceId,
      signature: signatureHeader(event.envelope, keys, nowMs),
      envelope: event.envelope,
      // Without a span for the attempt, core sends the event's trace context unchanged.
      traceparent: span?.traceparent ?? traceparent,
    });
    if (span !== undefined) endSpan(span, event, this.#attempts + 1, url, outcome);
    return outcome;
  }

  /**
   * Begins to record a drop or the outcome of an attempt. Enters "resting" if the failed attempt will be retried, and
   * otherwise "recording". Outcomes are recorded in order, so the caller must first await `recorded`.
   */
  conclude(outcome: PushOutcome | DropReason): void {
    const { event } = this;
    const { context, lease } = this.#shard;
    if (lease.over.aborted) return this.leave();
    const next = this.#nextAfter(outcome);
    this.#enter(next.do === "retry" ? "resting" : "recording");
    const isTried = typeof outcome === "object";
    if (isTried) {
      this.#attempts += 1;
      context.hourCounts?.add(event.workspaceId, outcome.ok ? "push" : "push-failed");
    }
    if (next.do === "keep" || (next.do === "done" && !isTried)) {
      context.onDrop(event, isTried ? "failed" : outcome);
    }
    this.#recorded = this.#record({
      push: event,
      delivery:
        next.do === "hold"
          ? undefined
          : deliveryOf(event.eventId, event.eventType, this.#attempts, outcome, this.#loggedEvent()),
      response: isTried && !outcome.ok ? outcome.response : undefined,
      next,
    });
  }

  /** Returns the part of a log entry that describes the event. The attempts of an event share one summary. */
  #loggedEvent(): LoggedEvent {
    const { envelope, publisher, expiresAtMs } = this.event;
    this.#logged ??= { summary: summarize(envelope), publisher, expiresAtMs };
    return this.#logged;
  }

  #nextAfter(outcome: PushOutcome | DropReason): PushRecord["next"] {
    if (typeof outcome === "string") {
      // An event that was never sent is held if the workspace polls now.
      if (outcome === "polls" && this.#attempts === 0) return { do: "hold" };
      return { do: RESULT_MEANINGS[outcome].isKept ? "keep" : "done" };
    }
    if (outcome.ok) return { do: "done" };
    if (!this.event.isRetried || this.#attempts >= RETRY_OFFSETS_MS.length) return { do: "keep" };
    this.#firstFailure ??= { atMs: this.#shard.context.now(), at: performance.now() };
    return { do: "retry", attempts: this.#attempts + 1, firstFailedAtMs: this.#firstFailure.atMs };
  }

  /** Retries until the outcome is recorded or the lease is lost. */
  async #record(record: PushRecord): Promise<PushState> {
    const { pushQueue, report, onDrop } = this.#shard.context;
    const { shard, token, over } = this.#shard.lease;
    let recorded: Recorded = "lost";
    while (recorded === "lost" && !over.aborted) {
      try {
        recorded = await pushQueue.record(token, shard, record);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) {
          report("record", error);
          break;
        }
      }
      // Redis may have lost the lease, although this core still considers the lease held. So core retries until the
      // lease is acquired again, or `over` is aborted.
      if (recorded === "lost") await pause(AFTER_FAULT_MS);
    }
    if (record.next.do === "retry") return "resting";
    if (recorded === "polls" || recorded === "disconnected") onDrop(record.push, recorded);
    this.#enter(recorded === "lost" ? "left" : recorded === "pushed" ? "waiting" : "gone");
    return this.#state;
  }
}

/** Returns the target URL and the keys that sign the event, or the reason why the event cannot be pushed. */
function targetOf(
  { expiresAtMs }: QueuedPush,
  workspace: CurrentWorkspace,
  nowMs: number,
): { readonly url: URL; readonly keys: readonly HmacKey[] } | DropReason | "unreadable" {
  if (workspace === "unreadable") return workspace;
  if (workspace === undefined || deliveryMode(workspace) === "none") return "disconnected";
  if (deliveryMode(workspace) === "poll") return "polls";
  if (expiresAtMs !== null && expiresAtMs <= nowMs) return "expired";
  const keys = activeKeys(workspace, nowMs);
  if (keys.length === 0) return "unreadable";
  const url = urls.get(workspace) ?? new URL(workspace.targetUrl);
  urls.set(workspace, url);
  return { url, keys };
}

/** Caches the target URLs, so that the URL of a `Workspace` object is parsed only once. */
const urls = new WeakMap<Workspace, URL>();

/** Ends the span of an attempt. The target URL can contain a secret, so only its host is recorded. */
function endSpan(
  span: Span,
  event: QueuedPush,
  attempt: number,
  { hostname }: URL,
  outcome: PushOutcome,
): void {
  const result = outcome.ok ? "success" : outcome.failure;
  span.end(
    {
      "http.request.method": "POST",
      "server.address": hostname,
      ...(outcome.status !== undefined && { "http.response.status_code": outcome.status }),
      "http.request.resend_count": attempt - 1,
      "messaging.message.id": event.eventId,
      "chatbridge.workspace.id": event.workspaceId,
      "chatbridge.event.type": event.eventType,
      "chatbridge.attempt": attempt,
      "chatbridge.result": result,
    },
    outcome.ok ? undefined : result,
  );
}
