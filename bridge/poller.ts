import { backOffMs, REAL_TIMING } from "./back-off";
import type { CursorStore } from "./cursor-store";
import type { EventPage } from "./events";
import { createPoll, type PollOptions } from "./poll";
import { errorOf, warn } from "./problem";

export interface PollerOptions extends PollOptions {
  /** Where the cursor is kept, such as `cursorFile("/var/lib/bridge/cursor")`. */
  readonly cursors: CursorStore;
  /**
   * Shows a page of events. The cursor moves on once it resolves. When it rejects, or the process ends, the
   * same page comes again, perhaps with more at its end: dedupe on `id`, as `eachEvent` does.
   */
  handle(page: EventPage, signal: AbortSignal): Promise<void> | void;
  /** Where to begin when no cursor is kept: with all that is held, up to 24 hours (the default), or from now. */
  readonly start?: "oldest" | "latest";
  /** Between two polls when no more events wait: 2000 ms, the default, or more. */
  readonly intervalMs?: number;
  /** Told of all that went wrong and is tried again, or was left out. By default it is a warning of the process. */
  readonly report?: (problem: Error) => void;
  /** Ends the poller, and the poll in hand; `handle` is told, and waited for. */
  readonly signal: AbortSignal;
}

/** The contract's advice, and the most that the service is asked. */
const INTERVAL_LEAST_MS = 2_000;
const BACK_OFF_MOST_MS = 30_000;

/**
 * Polls until `signal` is aborted. It goes from page to page at once while `hasMore`, and otherwise waits for
 * the interval. The signature of every page is checked before anything is done with it. Time-outs, dropped
 * connections, `5xx`, `429` and pages that are not rightly signed are polled again, ever more slowly, and never
 * before `Retry-After`; so is a page that `handle` rejected.
 *
 * Resolves when it was aborted. Rejects with `PollRefused` for any other answer, with RangeError or TypeError
 * for an option out of range, and with what `cursors.load` or `secrets` reject with. The cursor stays as it
 * was, so that a later run carries on from there.
 */
export async function runPoller(options: PollerOptions): Promise<void> {
  const { cursors, handle, signal, start = "oldest", timing = REAL_TIMING } = options;
  const { intervalMs = INTERVAL_LEAST_MS, report = warn } = options;
  if (!(intervalMs >= INTERVAL_LEAST_MS)) throw new RangeError("intervalMs must be 2000 or more");
  const backOff = { firstMs: intervalMs, mostMs: Math.max(intervalMs, BACK_OFF_MOST_MS) };
  const poll = createPoll(options);
  let after = await cursors.load();
  let saved = after;
  let failures = 0;

  /** A cursor that cannot be kept holds nothing up: after a crash, events come again. */
  async function moveTo(cursor: string): Promise<void> {
    after = cursor;
    if (cursor === saved) return;
    try {
      await cursors.save(cursor);
      saved = cursor;
    } catch (error) {
      report(errorOf("the cursor was not kept", error));
    }
  }

  /** One poll, and the page shown; answers how long to wait before the next. */
  async function turn(): Promise<number> {
    const polled = await poll(after ?? (start === "latest" ? "latest" : undefined), signal);
    if (signal.aborted) return 0;
    if ("problem" in polled) {
      report(new Error(polled.problem));
      return Math.max(backOffMs(++failures, backOff, timing.random()), polled.notForMs);
    }
    for (const what of polled.leftOut) report(new Error(`an event was left out: ${what}`));
    const { page } = polled;
    try {
      await handle(page, signal);
    } catch (error) {
      if (!signal.aborted) report(errorOf("a page was not handled and comes again", error));
      return backOffMs(++failures, backOff, timing.random());
    }
    failures = 0;
    const isFurther = page.next !== null && page.next !== after;
    if (page.next !== null) await moveTo(page.next);
    return page.hasMore && isFurther ? 0 : Math.ceil(intervalMs * (1 + timing.random() / 10));
  }

  while (!signal.aborted) await timing.pause(await turn(), signal);
}
