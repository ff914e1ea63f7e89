import { POLL_INTERVAL_MS } from "./contract";
import { backOffMs, REAL_TIMING } from "./back-off";
import type { CursorStore } from "./cursor-store";
import type { EventPage } from "./events";
import { createPoll, type PollOptions } from "./poll";
import { errorOf, warn } from "./problem";

export interface PollerOptions extends PollOptions {
  /** Store of the cursor, such as `cursorFile("/var/lib/bridge/cursor")`. */
  readonly cursors: CursorStore;
  /**
   * Shows a page of events. The cursor moves to the end of the page once `handle` resolves. When `handle` rejects or
   * the process ends, the same page is polled again, perhaps with more events: dedupe on `id`, as `eachEvent` does.
   */
  handle(page: EventPage, signal: AbortSignal): Promise<void> | void;
  /** Start when there is no cursor: at the oldest held event, up to 24 hours old (the default), or at the latest. */
  readonly start?: "oldest" | "latest";
  /** Wait between two polls when no more events are held, ms; 2000, the default, or more. */
  readonly intervalMs?: number;
  /** Called for each problem that is retried, and for each skipped event. Emits a process warning by default. */
  readonly report?: (problem: Error) => void;
  /** Stops the poller and aborts a pending poll. `handle` gets the signal, and the poller waits for `handle`. */
  readonly signal: AbortSignal;
}

/** The poll interval that the contract recommends, and the shortest that the poller accepts. */
const INTERVAL_LEAST_MS = POLL_INTERVAL_MS;
const BACK_OFF_MOST_MS = 30_000;

/**
 * Polls until `signal` is aborted. Fetches the next page at once while `hasMore`, and otherwise waits for the
 * interval. Checks the signature of every page before using it. Polls again, with growing waits and never before
 * `Retry-After`, after a timeout, a dropped connection, a `5xx`, a `429`, an invalid page, or a page that `handle`
 * rejected.
 *
 * Resolves after an abort. Rejects with `PollRefused` for any other status, with RangeError or TypeError for an
 * invalid option, and with the errors of `cursors.load` and `secrets`. The saved cursor is then unchanged, so that
 * a later run continues from there.
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

  /** Polling continues when the cursor cannot be saved: after a crash, events are polled again. */
  async function moveTo(cursor: string): Promise<void> {
    after = cursor;
    if (cursor === saved) return;
    try {
      await cursors.save(cursor);
      saved = cursor;
    } catch (error) {
      report(errorOf("cannot save the cursor", error));
    }
  }

  /** Polls once and handles the page. Returns the milliseconds to wait before the next poll. */
  async function turn(): Promise<number> {
    const polled = await poll(after ?? (start === "latest" ? "latest" : undefined), signal);
    if (signal.aborted) return 0;
    if ("problem" in polled) {
      report(new Error(polled.problem));
      return Math.max(backOffMs(++failures, backOff, timing.random()), polled.notForMs);
    }
    for (const what of polled.leftOut) report(new Error(`an event was skipped: ${what}`));
    const { page } = polled;
    try {
      await handle(page, signal);
    } catch (error) {
      if (!signal.aborted) report(errorOf("a page was not handled and will be polled again", error));
      return backOffMs(++failures, backOff, timing.random());
    }
    failures = 0;
    const isFurther = page.next !== null && page.next !== after;
    if (page.next !== null) await moveTo(page.next);
    return page.hasMore && isFurther ? 0 : Math.ceil(intervalMs * (1 + timing.random() / 10));
  }

  while (!signal.aborted) await timing.pause(await turn(), signal);
}
