import type { Delivery } from "../../proto/gen/chatbridge/v1/game";
import type { GameClock } from "./clock";
import { callFor, callForTimer, runCall, type Call } from "./dispatch";
import { HandlerTurn } from "./handler-turn";
import { draftOf, type WaitingTimer, type WorkspaceDocument } from "./document";
import type { Game } from "./game";
import type { GameLog } from "./log";
import { writeCommand, type GameNames } from "./names";
import type { RunCounts } from "./run-counts";

export interface HandlerContext<State> {
  readonly game: Game<State>;
  readonly names: GameNames;
  readonly clock: GameClock;
  readonly log: GameLog;
  readonly counts: RunCounts;
  /** Called with the duration of each handler, in ms. */
  readonly onHandled: (ms: number) => void;
}

/** The result of handling an event. */
export type Handled =
  | { readonly outcome: "done"; readonly document: WorkspaceDocument }
  /** The handler has failed: core must deliver the event again after the delay. */
  | { readonly outcome: "retry"; readonly delayMs: number }
  /** The handler has failed too often. The document contains the notice for the member. */
  | { readonly outcome: "dead-letter"; readonly reason: string; readonly document: WorkspaceDocument };

/**
 * Attempts of a handler, and the delay before each further attempt, ms. After the last attempt, the event is
 * dead-lettered, and a timer is dropped. While an event waits, the later events of its workspace wait too, so the
 * delays for events are short.
 */
const ATTEMPTS_MAX = 5;
const EVENT_RETRY_MS = [250, 500, 1_500, 5_000];
const TIMER_RETRY_MS = [1_000, 5_000, 15_000, 60_000];
/** Maximum number of events in a workspace whose failures are counted. */
const FAILING_MAX = 100;
/** Times after which an unfinished handler is logged, and after which it has failed, ms. */
const SLOW_MS = 10_000;
const HANDLER_MOST_MS = 120_000;
/** Maximum number of timers that run before the workspace is saved. The other timers run soon afterwards. */
const TIMERS_AT_ONCE = 50;
/**
 * Number of the newest delivery ids that are kept. Core cannot redeliver more events than this, because it redelivers
 * only unacked events.
 */
const HANDLED_MAX = 400;

/** Runs the handlers of one workspace, in drafts of its document. */
export class HandlerRuns<State> {
  readonly #workspaceId: string;
  readonly #context: HandlerContext<State>;
  /** Failures of handlers, by delivery id. */
  readonly #failures = new Map<string, number>();

  constructor(workspaceId: string, context: HandlerContext<State>) {
    this.#workspaceId = workspaceId;
    this.#context = context;
  }

  /**
   * Runs the timers that are due at `untilMs`, in order. Stops at a maximum, because timers can start each other
   * endlessly. Returns the document with their effects.
   */
  async runTimers(document: WorkspaceDocument, untilMs: number): Promise<WorkspaceDocument> {
    const { game, clock, counts, log } = this.#context;
    let result = document;
    for (let count = 0; count < TIMERS_AT_ONCE; count++) {
      const timer = firstTimer(result);
      if (timer === undefined || timer.atMs > untilMs) break;
      const call = callForTimer(game, timer);
      const draft = withoutTimer(result, timer);
      if (call === undefined) {
        const fields = { workspaceId: this.#workspaceId, timer: timer.name };
        log.warn(fields, "a timer is dropped, because the game has no handler for it");
      } else if (await this.#run(call, draft, { cause: timer.id })) {
        counts.timersRun += 1;
      } else {
        result = this.#withRetry(withoutTimer(result, timer), timer, clock.now());
        continue;
      }
      result = draft;
    }
    return result;
  }

  /** Handles an event whose effect the document does not contain yet. */
  async handle(
    document: WorkspaceDocument,
    { deliveryId, received, traceparent }: Delivery,
  ): Promise<Handled> {
    const { game, names, clock, counts } = this.#context;
    const event = received?.event;
    const nowMs = clock.now();
    const receivedAtMs = Math.min(received?.receivedAt?.getTime() ?? nowMs, nowMs);
    const isOld = receivedAtMs < nowMs - game.maxEventAgeMs;
    const call =
      event === undefined || isOld ? undefined : callFor(game, names, event, document, receivedAtMs, counts);
    if (call === undefined) {
      counts[isOld ? "tooOld" : "ignored"] += 1;
      return { outcome: "done", document };
    }
    const draft = draftOf(document);
    const isHandled = await this.#run(call, draft, {
      cause: deliveryId,
      deliveryId,
      ...(traceparent !== "" && { traceparent }),
    });
    if (!isHandled) {
      const failed = this.#failed(deliveryId, call);
      if (failed.outcome === "retry") return failed;
      return { ...failed, document: this.#withNotice(document, deliveryId, call) };
    }
    counts.handled += 1;
    this.#failures.delete(deliveryId);
    draft.handled.push(deliveryId);
    if (draft.handled.length > HANDLED_MAX) draft.handled.shift();
    return { outcome: "done", document: draft };
  }

  /** Runs the game's `onStop` for each state of the workspace. Returns the document with the effects. */
  async stop(document: WorkspaceDocument): Promise<WorkspaceDocument> {
    const { game } = this.#context;
    const { stop } = game.handlers;
    if (stop === undefined) return document;
    let result = document;
    for (const key of Object.keys(document.states)) {
      const draft = draftOf(result);
      const place = game.per === "channel" ? { channel: key } : {};
      const call: Call<State> = { name: "onStop", place, run: (turn) => stop(turn) };
      if (await this.#run(call, draft, { cause: `${draft.id}.${++draft.counter}` })) result = draft;
    }
    return result;
  }

  #failed(deliveryId: string, { name }: Call<State>) {
    const { counts, log } = this.#context;
    const failures = (this.#failures.get(deliveryId) ?? 0) + 1;
    this.#failures.delete(deliveryId);
    const [oldest] = this.#failures.keys();
    if (oldest !== undefined && this.#failures.size >= FAILING_MAX) this.#failures.delete(oldest);
    // The number of failures is kept even after the last attempt. If the save fails, core redelivers the event, and the
    // event is dropped again.
    this.#failures.set(deliveryId, failures);
    if (failures < ATTEMPTS_MAX) {
      return { outcome: "retry", delayMs: EVENT_RETRY_MS[failures - 1] ?? 0 } as const;
    }
    counts.deadLettered += 1;
    const reason = `the handler of ${name} has failed ${failures} times`;
    log.error({ workspaceId: this.#workspaceId, deliveryId, reason }, "an event is dropped as a dead letter");
    return { outcome: "dead-letter", reason } as const;
  }

  /**
   * Returns the document with the notice that tells the member about the dropped event. A redelivery of the event adds
   * the same notice, with the same idempotency key, so the member sees the notice once.
   */
  #withNotice(document: WorkspaceDocument, deliveryId: string, call: Call<State>): WorkspaceDocument {
    const { game, names, clock } = this.#context;
    const { place, message } = call;
    if (game.failureNotice === false || !call.isAddressed) return document;
    const draft = draftOf(document);
    const turn = new HandlerTurn<State>(game, draft, {
      workspaceId: this.#workspaceId,
      nowMs: clock.now(),
      // The notice is not an effect of this attempt, so its fence does not name the attempt.
      cause: `${deliveryId}/dropped`,
      place,
      usage: (verb) => writeCommand(verb, names),
    });
    turn.ephemeral(game.failureNotice, undefined, { about: message });
    return draft;
  }

  #withRetry(draft: WorkspaceDocument, timer: WaitingTimer, nowMs: number): WorkspaceDocument {
    const { counts, log } = this.#context;
    const failures = (timer.failures ?? 0) + 1;
    if (failures < ATTEMPTS_MAX) {
      draft.timers.push({ ...timer, failures, atMs: nowMs + (TIMER_RETRY_MS[failures - 1] ?? 0) });
      return draft;
    }
    counts.timersDropped += 1;
    const fields = { workspaceId: this.#workspaceId, timer: timer.name, failures };
    log.error(fields, "a timer is dropped, because its handler has failed too often");
    return draft;
  }

  /** Runs a handler in a draft. Resolves to false if the handler has failed. */
  async #run(
    call: Call<State>,
    draft: WorkspaceDocument,
    cause: { readonly cause: string; readonly deliveryId?: string; readonly traceparent?: string },
  ): Promise<boolean> {
    const { game, names, clock, counts, log, onHandled } = this.#context;
    const workspaceId = this.#workspaceId;
    const nowMs = clock.now();
    try {
      const usage = (verb: string): string => writeCommand(verb, names);
      const within = (work: PromiseLike<unknown>): Promise<unknown> => this.#within(call, work);
      await runCall(game, call, draft, { workspaceId, nowMs, ...cause, usage }, within);
      return true;
    } catch (error) {
      counts.failed += 1;
      log.error({ workspaceId, handler: call.name, err: error }, "a handler has failed");
      return false;
    } finally {
      onHandled(clock.now() - nowMs);
    }
  }

  /** Settles as `work` does. Rejects if `work` takes too long, because the workspace waits for it. */
  #within({ name }: Call<State>, work: PromiseLike<unknown>): Promise<unknown> {
    const { clock, log } = this.#context;
    const beganAtMs = clock.now();
    return new Promise((resolve, reject) => {
      let cancel = clock.at(beganAtMs + SLOW_MS, () => {
        log.warn(
          { workspaceId: this.#workspaceId, handler: name },
          "a handler is slow, and its workspace waits: shorten the handler",
        );
        cancel = clock.at(beganAtMs + HANDLER_MOST_MS, () =>
          reject(new Error(`the handler has not finished within ${HANDLER_MOST_MS / 1_000} seconds`)),
        );
      });
      work.then(resolve, reject);
      void Promise.resolve(work).then(
        () => cancel(),
        () => cancel(),
      );
    });
  }
}

/** Returns the timer with the earliest time. */
export function firstTimer({ timers }: WorkspaceDocument): WaitingTimer | undefined {
  let first: WaitingTimer | undefined;
  for (const timer of timers) if (first === undefined || timer.atMs < first.atMs) first = timer;
  return first;
}

function withoutTimer(document: WorkspaceDocument, timer: WaitingTimer): WorkspaceDocument {
  const draft = draftOf(document);
  draft.timers = draft.timers.filter((each) => each !== timer);
  return draft;
}
