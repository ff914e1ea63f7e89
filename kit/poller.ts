import { POLL_INTERVAL_MS } from "../contract/numbers";
import { backOffMs, REAL_TIMING, type Timing } from "./back-off";
import type { CursorStore } from "./cursor-store";
import type { EventPage } from "./events";
import { PageUnfinished, type UnfinishedPage } from "./page-progress";
import { createPoll, PollFailed, type PollOptions } from "./poll";
import { errorOf, warn } from "./problem";
import { ReadAhead, type ReadAheadLimits } from "./read-ahead";

export { PageUnfinished, type PageProgress, type UnfinishedPage } from "./page-progress";

export interface PollerOptions extends PollOptions {
  /** Store of the cursor, such as `cursorFile("/var/lib/bridge/cursor")`. */
  readonly cursors: CursorStore;
  /**
   * Shows a page of events. The cursor moves to the end of the page once `handle` resolves to undefined. If `handle`
   * rejects, or the process stops earlier, the page is polled again, possibly with more events. Until then, no later
   * page is read. Therefore, skip events whose `id` was already handled, as `eachEvent` does.
   *
   * If the chat does not accept an event, other channels need not wait. In this case, resolve to an `UnfinishedPage`,
   * as the `takePage` of a `CatchUp` does, or reject with `PageUnfinished`, as `eachEvent` does. The cursor then stays
   * before the page, and the poller reads the next pages.
   */
  handle(page: EventPage, signal: AbortSignal): Promise<UnfinishedPage | void> | UnfinishedPage | void;
  /** Events to fetch if no cursor is saved: all held events (the default), or only new events. */
  readonly start?: "oldest" | "latest";
  /**
   * Milliseconds between two polls, unless the page's `hasMore` is true. The poller adds a random share of up to 10
   * percent. The minimum and default is 2000.
   */
  readonly intervalMs?: number;
  /**
   * Called for each problem that does not stop the poller, and for each event that is invalid or has an unknown type.
   * Some problems can occur at every poll, e.g. a page that is not handled, or a cursor that cannot be saved. Such a
   * problem is reported once, and again only after it has been solved or a poll has failed. The default emits a process
   * warning.
   */
  readonly report?: (problem: Error) => void;
  /**
   * When this signal is aborted, the poller aborts a pending poll and stops. The signal is also passed to `handle`. If
   * `handle` is running, or calls of an `UnfinishedPage` are in progress, the poller stops only after they have
   * settled.
   */
  readonly signal: AbortSignal;
}

/** Options of the kit's own pollers. */
export interface WatchedPollerOptions extends PollerOptions {
  /**
   * Called with each page, before the page is handled. `isSolved` is false while the chat does not accept an event, or
   * while the cursor cannot be saved. The poller calls `report` only once for such a problem, but `onPage` for each
   * page.
   */
  readonly onPage: (isSolved: boolean) => void;
  /** `READ_AHEAD_LIMITS` by default. */
  readonly aheadLimits?: ReadAheadLimits;
}

/** Minimum and default of `intervalMs`, ms: the interval that the contract recommends. */
const INTERVAL_LEAST_MS = POLL_INTERVAL_MS;
const BACK_OFF_MOST_MS = 30_000;
/** Maximum number of different skipped events that are remembered, so that each is reported only once. */
const SKIPPED_MOST = 100;

/**
 * Polls until `signal` is aborted. Fetches the next page immediately while `hasMore` is true, and otherwise after the
 * interval. Checks the signature of every page before using the page.
 *
 * After a timeout, a dropped connection, a `5xx`, a `429` or an invalid page, polls again. The waits before these polls
 * grow, and are never shorter than `Retry-After`. If `handle` rejects, polls the same page again after the usual
 * interval. This wait does not grow, because a message that the chat refuses must not delay the events of other
 * channels (bridge guide, "Poll").
 *
 * While a page is unfinished, each round polls the saved cursor again, and then reads further pages after those in
 * memory, up to `READ_AHEAD_LIMITS`.
 *
 * Resolves after an abort. Rejects with `PollRefused` for any status except `200`, `429` and `5xx`. Rejects with
 * RangeError or TypeError for an invalid option, and with the errors of `cursors.load` and `secrets`. A rejection
 * leaves the saved cursor unchanged: a later run continues from that cursor.
 */
export function runPoller(options: PollerOptions): Promise<void> {
  return runWatchedPoller({ ...options, onPage: () => undefined });
}

/** The same as `runPoller`, with the callback `onPage`. */
export async function runWatchedPoller(options: WatchedPollerOptions): Promise<void> {
  const { intervalMs = INTERVAL_LEAST_MS } = options;
  if (!(intervalMs >= INTERVAL_LEAST_MS))
    throw new RangeError(`intervalMs must be ${INTERVAL_LEAST_MS} or more`);
  const rounds = new PollRounds(options, intervalMs);
  await rounds.run();
}

/**
 * The polls of a poller. The first poll of each round begins at the saved cursor. The next polls of the round begin at
 * the read position, at the end of the last page in memory:
 *
 *      ┌──────────────────────────wait──────────────────────────┐
 *      ▼                                                        │
 *     saved ──hasMore──▶ ahead ──not hasMore, or too many events─┤
 *      │                 ▲   └──hasMore──┐                      │
 *      │                 └───────────────┘                      │
 *      └──not hasMore, or too many events───────────────────────┘
 *
 * If no page is unfinished, the read position is the saved cursor. A failed poll is repeated in the same state.
 */
class PollRounds {
  readonly #options: WatchedPollerOptions;
  readonly #timing: Timing;
  readonly #intervalMs: number;
  readonly #report: (problem: Error) => void;
  readonly #poll: ReturnType<typeof createPoll>;
  readonly #ahead: ReadAhead;
  #at: "saved" | "ahead" = "saved";
  /** The cursor to save; it differs from `#stored` until it has been saved. */
  #cursor: string | undefined;
  #stored: string | undefined;
  /** Resolves when the cursor is saved. Saves must not overlap, because the older cursor could be saved last. */
  #saving = Promise.resolve();
  /** Whether the cursor will be saved once the calls to the chat are answered. */
  #isWatching = false;
  /** Whether a poll of the saved cursor is in progress. The cursor must not move past the page of that poll. */
  #isPollingSaved = false;
  #isOver = false;
  #failures = 0;
  /** Whether `handle` rejected the last page. */
  #isRejected = false;
  // Whether a problem that repeats at each poll was reported. Such a problem is reported once, and again only after it
  // has been solved or a poll has failed.
  #isRefused = false;
  #isUnsaved = false;
  #isFullReported = false;
  #skipped = new Set<string>();
  /**
   * The `after` of the last gap that was handled. Until the cursor moves, each page after the same cursor reports the
   * same gap again.
   */
  #gapAfter: string | undefined;

  constructor(options: WatchedPollerOptions, intervalMs: number) {
    this.#options = options;
    this.#timing = options.timing ?? REAL_TIMING;
    this.#report = options.report ?? warn;
    this.#intervalMs = intervalMs;
    this.#poll = createPoll(options);
    this.#ahead = new ReadAhead(options.aheadLimits);
  }

  async run(): Promise<void> {
    const { cursors, signal } = this.#options;
    this.#cursor = this.#stored = await cursors.load();
    try {
      while (!signal.aborted) await this.#timing.pause(await this.#turn(), signal);
      await this.#ahead.idle();
      this.#pass();
      await this.#persist();
    } finally {
      // After this poller has stopped, it must not save any more, because a later poller may use the same store.
      this.#isOver = true;
      await this.#saving;
    }
  }

  /** Polls once and handles the page. Returns the milliseconds to wait before the next poll. */
  async #turn(): Promise<number> {
    const { start, signal } = this.#options;
    if (this.#pass()) await this.#persist();
    if (this.#at === "saved") {
      this.#ahead.forgetIfNeeded();
      this.#ahead.forgetExpired(this.#timing.now());
    }
    const after = (this.#at === "ahead" ? this.#ahead.end : undefined) ?? this.#cursor;
    this.#isPollingSaved = this.#at === "saved";
    const polled = await this.#poll(after ?? (start === "latest" ? "latest" : undefined), signal);
    this.#isPollingSaved = false;
    if (signal.aborted) return 0;
    if ("problem" in polled) {
      if (this.#pass()) await this.#persist();
      return this.#fail(new PollFailed(polled.problem), polled.notForMs);
    }
    this.#failures = 0;
    this.#tellSkipped(polled.leftOut);
    const pauseMs = Math.ceil(this.#intervalMs * (1 + this.#timing.random() / 10));
    const { page } = polled;
    if (!(await this.#handle(page, after))) {
      this.#at = "saved";
      return pauseMs;
    }
    const isFurther = page.next !== null && page.next !== after;
    const isMore = page.hasMore && isFurther && !this.#isFull();
    this.#at = isMore ? "ahead" : "saved";
    return isMore ? 0 : pauseMs;
  }

  #fail(problem: PollFailed, notForMs: number): number {
    const backOff = { firstMs: this.#intervalMs, mostMs: Math.max(this.#intervalMs, BACK_OFF_MOST_MS) };
    this.#report(problem);
    this.#isRefused = this.#isUnsaved = false;
    return Math.max(backOffMs(++this.#failures, backOff, this.#timing.random()), notForMs);
  }

  /** Passes the new events of a page to the handler. Returns false if the handler rejects. */
  async #handle(page: EventPage, after: string | undefined): Promise<boolean> {
    const { signal, onPage } = this.#options;
    onPage(!this.#hasProblem() && this.#cursor === this.#stored);
    const isFirst = this.#ahead.isEmpty;
    const events = this.#ahead.unread(page.events);
    // If the page contains a known event, there is no new gap: all earlier events were read before they expired.
    const isAllNew = events.length === page.events.length;
    const gap = page.gap && isAllNew && this.#gapAfter !== after;
    try {
      const unfinished = await this.#unfinished({ ...page, events, gap });
      if (gap) this.#gapAfter = after;
      // If all events of a page are known, the page does not end after the read position.
      const isAhead = isFirst || events.length > 0 || !page.hasMore || this.#at === "ahead";
      if (page.next !== null && isAhead) this.#ahead.add({ events, next: page.next, unfinished });
      this.#isRejected = false;
    } catch (error) {
      this.#isRejected = true;
      if (!signal.aborted) this.#tellOnce(error);
      return false;
    }
    this.#pass();
    await this.#persist();
    this.#hasProblem();
    if (this.#ahead.isEmpty) this.#skipped.clear();
    else void this.#saveWhenIdle();
    return true;
  }

  /** Resolves to undefined if the handler has finished the page. Rejects if the handler did not handle the page. */
  async #unfinished(page: EventPage): Promise<UnfinishedPage | undefined> {
    try {
      return (await this.#options.handle(page, this.#options.signal)) ?? undefined;
    } catch (error) {
      if (error instanceof PageUnfinished) return error;
      throw error;
    }
  }

  /** Moves the cursor past the finished pages. Returns whether the cursor moved. */
  #pass(): boolean {
    const cursor = this.#ahead.pass();
    this.#cursor = cursor ?? this.#cursor;
    return cursor !== undefined;
  }

  /** Resolves when the cursor is saved. If saving fails, polling continues, but a restart polls some events again. */
  #persist(): Promise<void> {
    this.#saving = this.#saving.then(() => this.#save());
    return this.#saving;
  }

  async #save(): Promise<void> {
    const cursor = this.#cursor;
    if (cursor === undefined || cursor === this.#stored || this.#isOver) return;
    try {
      await this.#options.cursors.save(cursor);
      this.#stored = cursor;
      this.#isUnsaved = false;
    } catch (error) {
      if (!this.#isUnsaved) this.#report(errorOf("cannot save the cursor", error));
      this.#isUnsaved = true;
    }
  }

  /**
   * Saves the cursor once the calls to the chat are answered, so that a bridge reads fewer events again after it was
   * killed.
   */
  async #saveWhenIdle(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    await this.#ahead.idle();
    this.#isWatching = false;
    if (!this.#isOver && !this.#isPollingSaved && this.#pass()) await this.#persist();
  }

  #isFull(): boolean {
    const { isFull, size } = this.#ahead;
    if (isFull && !this.#isFullReported) {
      const words =
        "no further events are read until the chat accepts the oldest event, or that event expires";
      this.#report(
        new Error(`${size} events were read after an event that the chat has not accepted: ${words}`),
      );
    }
    this.#isFullReported = isFull;
    return isFull;
  }

  /** Returns whether events wait for the chat or must be polled again. Reports the problem once. */
  #hasProblem(): boolean {
    const problem = this.#ahead.problem();
    if (problem !== undefined) this.#tellOnce(problem);
    else if (!this.#isRejected) this.#isRefused = false;
    return this.#isRejected || problem !== undefined;
  }

  #tellOnce(problem: unknown): void {
    if (!this.#isRefused) this.#report(errorOf("a page was not handled and will be polled again", problem));
    this.#isRefused = true;
  }

  #tellSkipped(leftOut: readonly string[]): void {
    for (const what of leftOut) {
      if (!this.#skipped.has(what)) this.#report(new Error(`an event was skipped: ${what}`));
    }
    if (this.#skipped.size >= SKIPPED_MOST) this.#skipped.clear();
    for (const what of leftOut) this.#skipped.add(what);
  }
}
