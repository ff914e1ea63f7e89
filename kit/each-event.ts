import { HELD_SECONDS } from "../contract/numbers";
import { REAL_TIMING, type Timing } from "./back-off";
import { isExpired, type EventPage, type OutboundEvent } from "./events";
import { errorOf, warn } from "./problem";
import { createSeenIds } from "./seen-ids";

export interface EachEventOptions {
  /** Called for each event that is dropped because `show` rejected. The default emits a process warning. */
  readonly report?: (problem: Error) => void;
  readonly timing?: Timing;
}

/**
 * Maximum number of seen event ids, kept for 24 hours. This number is enough: only the last page can be polled again,
 * and a page has at most 100 events.
 */
const SEEN_MOST = 1000;
const SEEN_FOR_MS = HELD_SECONDS * 1_000;

/**
 * Returns a poller's `handle`, which calls `show` for each event of a page, in order (bridge guide, "Rules for
 * events"). Events past their `expiresAt` and events that were already shown are skipped. When `show` rejects a
 * `message.create` or `dm.create`, the rest of the page is not shown, and the page is polled again. When `show` rejects
 * any other event, that event is dropped.
 *
 * `show` must resolve for an event that the chat will never accept. Otherwise, a create that never expires would block
 * all later events.
 */
export function eachEvent(
  show: (event: OutboundEvent, signal: AbortSignal) => Promise<void> | void,
  { report = warn, timing = REAL_TIMING }: EachEventOptions = {},
): (page: EventPage, signal: AbortSignal) => Promise<void> {
  const shown = createSeenIds({ forMs: SEEN_FOR_MS, most: SEEN_MOST });
  return async ({ events }, signal) => {
    for (const event of events) {
      signal.throwIfAborted();
      if (shown.has(event.id, timing.now()) || isExpired(event, timing.now())) continue;
      try {
        await show(event, signal);
      } catch (error) {
        // A poller that stops does not move its cursor, so this event will be polled again.
        if (signal.aborted || event.type === "message.create" || event.type === "dm.create") throw error;
        report(errorOf(`${event.type} ${event.id} was refused and dropped`, error));
      }
      shown.add(event.id, timing.now());
    }
  };
}
