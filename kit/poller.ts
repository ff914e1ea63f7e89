import { POLL_INTERVAL_MS } from "../contract/numbers";
import { backOffMs, REAL_TIMING } from "./back-off";
import type { CursorStore } from "./cursor-store";
import type { EventPage } from "./events";
import { createPoll, PollFailed, type PollOptions } from "./poll";
import { errorOf, warn } from "./problem";

export interface PollerOptions extends PollOptions {
  /** Store of the cursor, such as `cursorFile("/var/lib/bridge/cursor")`. */
  readonly cursors: CursorStore;
  /**
   * Shows a page of events. The cursor moves to the end of the page once `handle` resolves. If `handle` rejects, or the
   * process stops earlier, the page is polled again, possibly with more events. Therefore, skip events whose `id` was
   * already handled, as `eachEvent` does.
   */
  handle(page: EventPage, signal: AbortSignal): Promise<void> | void;
  /** Events to fetch if no cursor is saved: all held events (the default), or only new events. */
  readonly start?: "oldest" | "latest";
  /**
   * Milliseconds between two polls, unless the page's `hasMore` is true. The poller adds up to 10 percent at random.
   * At least 2000, which is the default.
   */
  readonly intervalMs?: number;
  /**
   * Called for each problem that does not stop the poller, and for each event that is invalid or has an unknown type.
   * Some problems repeat at each poll: a page that is polled again, or a cursor that cannot be saved. Such a problem is
   * reported once, and again only after it has been solved or a poll has failed. The default emits a process warning.
   */
  readonly report?: (problem: Error) => void;
  /**
   * When this signal is aborted, the poller aborts a pending poll and stops. The signal is also passed to `handle`: if
   * `handle` is running, the poller stops only after `handle` has settled.
   */
  readonly signal: AbortSignal;
}

/** Minimum and default of `intervalMs`, ms: the interval that the contract recommends. */
const INTERVAL_LEAST_MS = POLL_INTERVAL_MS;
const BACK_OFF_MOST_MS = 30_000;

/**
 * Polls until `signal` is aborted. Fetches the next page immediately while `hasMore` is true, and otherwise after the
 * interval. Checks the signature of every page before using the page.
 *
 * After a timeout, a dropped connection, a `5xx`, a `429` or an invalid page, polls again. The waits grow, and are
 * never shorter than `Retry-After`. If `handle` rejects, polls the same page again after the usual interval. These
 * waits do not grow, because a message that the chat refuses must not delay the events of other channels (bridge guide,
 * "Poll").
 *
 * Resolves after an abort. Rejects with `PollRefused` for any status except `200`, `429` and `5xx`. Rejects with
 * RangeError or TypeError for an invalid option, and with the errors of `cursors.load` and `secrets`. A rejection
 * leaves the saved cursor unchanged: a later run continues from that cursor.
 */
export async function runPoller(options: PollerOptions): Promise<void> {
  const { cursors, handle, signal, start = "oldest", timing = REAL_TIMING } = options;
  const { intervalMs = INTERVAL_LEAST_MS, report = warn } = options;
  if (!(intervalMs >= INTERVAL_LEAST_MS))
    throw new RangeError(`intervalMs must be ${INTERVAL_LEAST_MS} or more`);
  const backOff = { firstMs: intervalMs, mostMs: Math.max(intervalMs, BACK_OFF_MOST_MS) };
  const poll = createPoll(options);
  let after = await cursors.load();
  let saved = after;
  let failures = 0;
  // Problems that repeat at each poll. Each is reported once, and again only after it has been solved or a poll has
  // failed.
  let isRefused = false;
  let isUnsaved = false;
  let skipped: readonly string[] = [];

  /** Moves and saves the cursor. If saving fails, polling continues, but a restart would poll some events again. */
  async function moveTo(cursor: string): Promise<void> {
    after = cursor;
    if (cursor === saved) return;
    try {
      await cursors.save(cursor);
      saved = cursor;
      isUnsaved = false;
    } catch (error) {
      if (!isUnsaved) report(errorOf("cannot save the cursor", error));
      isUnsaved = true;
    }
  }

  /** Polls once and handles the page. Returns the milliseconds to wait before the next poll. */
  async function turn(): Promise<number> {
    const polled = await poll(after ?? (start === "latest" ? "latest" : undefined), signal);
    if (signal.aborted) return 0;
    if ("problem" in polled) {
      report(new PollFailed(polled.problem));
      isRefused = isUnsaved = false;
      return Math.max(backOffMs(++failures, backOff, timing.random()), polled.notForMs);
    }
    for (const what of polled.leftOut) {
      if (!skipped.includes(what)) report(new Error(`an event was skipped: ${what}`));
    }
    skipped = polled.leftOut;
    failures = 0;
    const { page } = polled;
    const pauseMs = Math.ceil(intervalMs * (1 + timing.random() / 10));
    try {
      await handle(page, signal);
    } catch (error) {
      if (!signal.aborted && !isRefused) {
        report(errorOf("a page was not handled and will be polled again", error));
      }
      isRefused = true;
      return pauseMs;
    }
    isRefused = false;
    skipped = [];
    const isFurther = page.next !== null && page.next !== after;
    if (page.next !== null) await moveTo(page.next);
    return page.hasMore && isFurther ? 0 : pauseMs;
  }

  while (!signal.aborted) await timing.pause(await turn(), signal);
}
