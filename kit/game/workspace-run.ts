import { randomBytes } from "node:crypto";
import type { Delivery, Fence } from "../../proto/gen/chatbridge/v1/game";
import type { SizeProblem } from "./chat-sizes";
import type { CoreLink } from "./core-link";
import { emptyDocument, hasOnlyHandled, type WorkspaceDocument } from "./document";
import { firstTimer, HandlerRuns, type HandlerContext } from "./handler-runs";
import { publishOutbox, type PublishOutcome } from "./publish-outbox";
import type { GameStore, StoredDocument } from "./store";
import { TimerHold } from "./timer-hold";

/** The context that all workspaces of a run share. */
export interface RunContext<State> extends HandlerContext<State> {
  readonly group: string;
  readonly link: CoreLink;
  readonly store: GameStore;
  /** Called for each part of a message that some chats do not show well. */
  readonly onSizeProblem: (problem: SizeProblem) => void;
  /** Returns the id of the newest stream; undefined if core does not support fences. */
  readonly streamId: () => string | undefined;
  /**
   * Called when the wake time of a workspace may have changed. `atMs` is undefined if the workspace need not be woken.
   */
  readonly onWake: (workspaceId: string, atMs: number | undefined) => void;
  /** Called when a workspace has finished all work in progress. */
  readonly onIdle: (workspaceId: string) => void;
}

/** Delay after a failure of the store or of publishing, ms. */
const OUTAGE_DELAY_MS = 1_000;
/** Time for which the state of a workspace is kept while core does not know the workspace, ms. */
const GONE_KEPT_MS = 30 * 86_400_000;
/** Maximum number of events that are handled, saved and published together. */
const BATCH_MAX = 50;
/**
 * Time after which no further event joins a batch, ms. The limit keeps members from waiting for slow handlers of later
 * events.
 */
const BATCH_MOST_MS = 100;

interface Job {
  readonly delivery: Delivery;
  /** The stream that delivered the event. */
  readonly streamId: string | undefined;
}

/** Events that are handled together. */
interface Batch {
  readonly jobs: readonly Job[];
  readonly era: number;
}

/** The result of the handlers of a batch. */
interface Worked {
  readonly document: WorkspaceDocument;
  /** Deliveries to ack. */
  readonly done: string[];
  readonly dead: { readonly deliveryId: string; readonly reason: string }[];
  /** Events that must be delivered again, because the handler of the first event has failed. */
  retry?: { readonly jobs: readonly Job[]; readonly delayMs: number };
}

/**
 * Handles the events and timers of one workspace, in order. Events that arrive while work is in progress are then
 * handled, saved and published together.
 *
 *     load ─▶ handlers work on drafts ─▶ save with the outbox ─▶ publish ─▶ ack
 *
 * A crash at any point loses and duplicates nothing. Core redelivers the events that were not acked. If the saved
 * document contains the effect of such an event, only the outbox is published again, with the same idempotency keys.
 */
export class WorkspaceRun<State> {
  readonly id: string;
  readonly #context: RunContext<State>;
  readonly #handlers: HandlerRuns<State>;
  readonly #timerHold = new TimerHold();
  #queue: Job[] = [];
  #isDue = false;
  /**
   * Increases with each `drop`. A batch of an earlier era must not change the queue, because core redelivers the
   * batch's events.
   */
  #era = 0;
  #isStopping = false;
  /**
   * The delivery id of an event that was returned to core. Until core redelivers the event, later events are ignored,
   * to keep the order.
   */
  #givenBack: string | undefined;
  #stored: StoredDocument | undefined;
  /** Whether the outbox was published since the document was saved. */
  #isDirty = false;
  #running: Promise<void> | undefined;

  constructor(id: string, context: RunContext<State>) {
    this.id = id;
    this.#context = context;
    this.#handlers = new HandlerRuns(id, context);
  }

  /** A promise that resolves when the work in progress has finished; undefined if no work is in progress. */
  get running(): Promise<void> | undefined {
    return this.#running;
  }

  /**
   * Whether this run can be dropped: it has no work in progress, no unsaved change, and no event that it returned to
   * core and still awaits.
   */
  get isClean(): boolean {
    return this.#running === undefined && !this.#isDirty && this.#givenBack === undefined;
  }

  deliver(delivery: Delivery): void {
    if (this.#givenBack !== undefined && delivery.deliveryId !== this.#givenBack) return;
    this.#givenBack = undefined;
    const nowMs = this.#context.clock.now();
    this.#timerHold.note(receivedAtOf(delivery, nowMs), nowMs);
    this.#queue.push({ delivery, streamId: this.#context.streamId() });
    this.#start();
  }

  /** Runs the due timers, and publishes the outbox that an earlier process did not publish. */
  wake(): void {
    this.#isDue = true;
    this.#start();
  }

  /**
   * Drops the queued events, because core redelivers them, and the document, because another process may change it.
   * Work in progress continues, but core and the store refuse stale results.
   */
  drop(): void {
    this.#era += 1;
    this.#queue = [];
    this.#isDue = false;
    this.#givenBack = undefined;
    this.#forgetDocument();
  }

  /**
   * Saves the empty outbox. If the save fails, no retry is needed, because the next process publishes the outbox with
   * the same idempotency keys.
   */
  flush(): void {
    if (this.#isDirty) this.#exclusively(() => this.#saveClean());
  }

  /** Drops the events whose handlers have not started. Core redelivers them to another process. */
  stopTaking(): void {
    this.#isStopping = true;
    this.#queue = [];
    this.#isDue = false;
  }

  /** Runs the game's `onStop`, and publishes and saves the result. Nothing may be in progress. */
  stop(): void {
    this.#exclusively(async () => {
      const hasHandler = this.#context.game.handlers.stop !== undefined;
      const before = hasHandler ? await this.#load(this.#era) : this.#stored;
      if (before === undefined) return;
      const document = await this.#handlers.stop(before.document);
      if (document !== before.document) {
        const stored = await this.#save(before, document);
        if (stored === undefined || (await this.#publish(stored, [])) !== "published") return;
      }
      if (this.#isDirty) await this.#saveClean();
    });
  }

  #start(): void {
    this.#exclusively(async () => {
      // Deliveries that arrive in the same turn of the event loop become one batch.
      await Promise.resolve();
      while (this.#queue.length > 0 || this.#isDue) {
        this.#isDue = false;
        const batch = { jobs: this.#queue.splice(0, BATCH_MAX), era: this.#era };
        await this.#batch(batch).catch((error: unknown) => this.#giveUp(batch, error));
      }
    });
  }

  /** Unless other work is in progress, runs `work`, and then handles the rest of the queue. Errors are logged. */
  #exclusively(work: () => Promise<void>): void {
    this.#running ??= work()
      .catch((error: unknown) => this.#giveUp({ jobs: [], era: this.#era }, error))
      .finally(() => {
        this.#running = undefined;
        if (this.#queue.length > 0 || this.#isDue) this.#start();
        else this.#context.onIdle(this.id);
      });
  }

  async #batch(batch: Batch): Promise<void> {
    const { link, clock, onWake } = this.#context;
    const { jobs, era } = batch;
    const before = await this.#load(era);
    if (isLongGone(before.document, clock.now()) && jobs.length === 0) return this.#remove();
    // The outbox of a killed process is published first, because replies refer to its messages by the ids that core
    // returns.
    if ((await this.#publish(before, jobs)) === "stale") return this.#reload();
    const { document, done, dead, retry } = await this.#work(before.document, batch);
    const stored = await this.#saveEffect(before, document);
    if (stored === undefined) {
      this.#giveBack(jobs, era, OUTAGE_DELAY_MS);
      return this.#reload();
    }
    const outcome = await this.#publish(stored, jobs);
    // Core redelivers the events to this process or to another process. The redelivered events may already be in the
    // queue.
    if (outcome === "stale") return this.#reload();
    for (const { deliveryId, reason } of dead) link.deadLetter(deliveryId, reason);
    if (done.length > 0) link.ack(done);
    this.#removeQueued([...done, ...dead.map(({ deliveryId }) => deliveryId)]);
    if (retry !== undefined) this.#giveBack(retry.jobs, era, retry.delayMs);
    const isWaiting = this.#givenBack !== undefined;
    onWake(
      this.id,
      wakeAtOf(document, (atMs) => this.#timerHold.runsAt(atMs, clock.now(), isWaiting)),
    );
  }

  /**
   * Runs the handlers of the due timers and of a batch. Events for which the batch has no time left go back to the
   * queue.
   */
  async #work(before: WorkspaceDocument, { jobs, era }: Batch): Promise<Worked> {
    const { clock } = this.#context;
    const beganAtMs = clock.now();
    let document = before;
    const done: string[] = [];
    const dead: Worked["dead"] = [];
    for (const [i, { delivery }] of jobs.entries()) {
      if (era !== this.#era || this.#isStopping) break;
      if (i > 0 && clock.now() - beganAtMs >= BATCH_MOST_MS) {
        this.#queue.unshift(...jobs.slice(i));
        break;
      }
      const { deliveryId } = delivery;
      if (document.handled.includes(deliveryId)) {
        done.push(deliveryId);
        continue;
      }
      // Timers that were due when the service received the event run before the event's handler.
      const receivedAtMs = receivedAtOf(delivery, clock.now());
      document = await this.#handlers.runTimers(document, receivedAtMs);
      const handled = await this.#handlers.handle(document, delivery);
      if (handled.outcome === "retry") {
        return { document, done, dead, retry: { jobs: jobs.slice(i), delayMs: handled.delayMs } };
      }
      if (handled.outcome === "dead-letter") {
        dead.push({ deliveryId, reason: handled.reason });
      } else {
        done.push(deliveryId);
      }
      document = handled.document;
    }
    if (this.#queue.length === 0 && !this.#isStopping) {
      const isWaiting = this.#givenBack !== undefined;
      document = await this.#handlers.runTimers(document, this.#timerHold.until(clock.now(), isWaiting));
    }
    return { document, done, dead };
  }

  async #load(era: number): Promise<StoredDocument> {
    if (this.#stored !== undefined) return this.#stored;
    const stored = (await this.#context.store.load(this.id)) ?? {
      version: 0,
      document: emptyDocument(randomBytes(6).toString("base64url")),
    };
    // After `drop`, another process may change the document, so it is not kept.
    if (era === this.#era) this.#stored = stored;
    return stored;
  }

  /**
   * Saves a document if it contains an effect. Returns undefined if another process has saved the document first.
   * Without an effect, only the ids of the deliveries are new, and they are saved with the next effect. Until then, a
   * redelivery has no effect either.
   */
  async #saveEffect(
    before: StoredDocument,
    document: WorkspaceDocument,
  ): Promise<StoredDocument | undefined> {
    if (!hasOnlyHandled(before.document, document)) return this.#save(before, document);
    const stored = { ...before, document };
    if (this.#stored === before) this.#stored = stored;
    return stored;
  }

  /** Saves the next version. Returns undefined if another process has saved the document first. */
  async #save({ version }: StoredDocument, document: WorkspaceDocument): Promise<StoredDocument | undefined> {
    const before = this.#stored;
    const stored = { version: version + 1, document };
    const wakeAtMs = document.outbox[0]?.atMs ?? wakeAtOf(document);
    if (!(await this.#context.store.save(this.id, stored, wakeAtMs))) {
      this.#context.counts.conflicts += 1;
      return undefined;
    }
    // `drop` may have been called meanwhile.
    if (before !== undefined && this.#stored === before) {
      this.#stored = stored;
      this.#isDirty = false;
    }
    return stored;
  }

  async #saveClean(): Promise<void> {
    if (this.#stored === undefined || (await this.#save(this.#stored, this.#stored.document)) !== undefined)
      return;
    this.#reload();
  }

  async #publish(stored: StoredDocument, jobs: readonly Job[]): Promise<PublishOutcome> {
    const { names, clock, streamId } = this.#context;
    if (stored.document.outbox.length === 0) return "published";
    const causes = new Map(jobs.map((job) => [job.delivery.deliveryId, job]));
    const fenceOf = (deliveryId: string | undefined): Fence | undefined => {
      const job = deliveryId === undefined ? undefined : causes.get(deliveryId);
      const stream = job === undefined ? streamId() : job.streamId;
      if (stream === undefined) return undefined;
      return {
        streamId: stream,
        deliveryId: job?.delivery.deliveryId ?? "",
        attempt: job?.delivery.attempt ?? 0,
      };
    };
    const context = { ...this.#context, game: names.own, fenceOf };
    const outcome = await publishOutbox(this.id, stored.document, context, clock.now());
    if (outcome === "unknown-workspace") this.#dropOutbox(stored.document);
    else if (outcome === "published") delete stored.document.goneSinceMs;
    if (outcome !== "stale" && this.#stored === stored) this.#isDirty = true;
    return outcome;
  }

  /**
   * Drops the outbox, which cannot be published, and keeps the state, because the workspace may be disconnected only
   * for some time.
   */
  #dropOutbox(document: WorkspaceDocument): void {
    const { clock, log } = this.#context;
    document.outbox = [];
    if (document.goneSinceMs !== undefined) return;
    document.goneSinceMs = clock.now();
    log.warn(
      { workspaceId: this.id },
      "core refuses events for a workspace that was deleted or disconnected, so the events are dropped",
    );
  }

  /** Removes the state of a workspace that core has not known for a long time. */
  async #remove(): Promise<void> {
    const { log, store } = this.#context;
    log.info(
      { workspaceId: this.id },
      "core has not known the workspace for 30 days, so its state is removed",
    );
    this.#forgetDocument();
    await store.remove(this.id);
  }

  /** Returns all events to core after an error of the store or of publishing. The outbox is published later. */
  #giveUp({ jobs, era }: Batch, error: unknown): void {
    const { counts, log } = this.#context;
    counts.outages += 1;
    log.warn({ workspaceId: this.id, error: String(error) }, "cannot save or publish a workspace, retrying");
    this.#giveBack(jobs, era, OUTAGE_DELAY_MS);
    this.#reload();
  }

  /** Returns these events and the queued events to core, which redelivers them in order. */
  #giveBack(jobs: readonly Job[], era: number, delayMs: number): void {
    if (era !== this.#era) return;
    const [first] = [...jobs, ...this.#queue];
    this.#queue = [];
    if (first === undefined) return;
    this.#givenBack = first.delivery.deliveryId;
    this.#context.link.nack([first.delivery.deliveryId], delayMs);
  }

  /** Removes settled events from the queue, because core ignores a second ack and a later nack. */
  #removeQueued(deliveryIds: readonly string[]): void {
    if (this.#queue.length === 0) return;
    const settled = new Set(deliveryIds);
    this.#queue = this.#queue.filter(({ delivery }) => !settled.has(delivery.deliveryId));
  }

  /** Forgets the document. A later wake loads the document again, and finishes the remaining work. */
  #reload(): void {
    const { clock, onWake } = this.#context;
    this.#forgetDocument();
    onWake(this.id, clock.now() + OUTAGE_DELAY_MS);
  }

  #forgetDocument(): void {
    this.#stored = undefined;
    this.#isDirty = false;
  }
}

/** Returns the time at which the service received an event, but at most `nowMs`, ms since the epoch. */
function receivedAtOf({ received }: Delivery, nowMs: number): number {
  return Math.min(received?.receivedAt?.getTime() ?? nowMs, nowMs);
}

/** Returns the time at which a workspace must be woken, ms since the epoch; undefined if there is nothing to do. */
function wakeAtOf(document: WorkspaceDocument, runsAt = (atMs: number) => atMs): number | undefined {
  const timer = firstTimer(document);
  const times = [
    ...(timer === undefined ? [] : [runsAt(timer.atMs)]),
    ...(document.goneSinceMs === undefined ? [] : [document.goneSinceMs + GONE_KEPT_MS]),
  ];
  return times.length === 0 ? undefined : Math.min(...times);
}

function isLongGone({ goneSinceMs }: WorkspaceDocument, nowMs: number): boolean {
  return goneSinceMs !== undefined && nowMs >= goneSinceMs + GONE_KEPT_MS;
}
