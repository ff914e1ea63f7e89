import { REAL_TIMING, type Timing } from "./back-off";
import { isExpired, type EventPage, type OutboundEvent } from "./events";
import { errorOf, warn } from "./problem";
import { createSeenIds } from "./seen-ids";

export interface EachEventOptions {
  /** Told of updates and ephemerals that were refused and dropped. By default it is a warning of the process. */
  readonly report?: (problem: Error) => void;
  readonly timing?: Timing;
}

/** More than a page has, and a page is all that comes again. */
const SEEN_MOST = 1000;
const SEEN_FOR_MS = 24 * 60 * 60_000;

/**
 * Makes a poller's `handle` of a function that shows one event, in their order ("Bridge rules when catching up"
 * 1, 4, 5). Events past their `expiresAt` and those that were shown before are left out. When a `message.create`
 * or `dm.create` is rejected, the page stops there and comes again; anything else that is rejected is dropped.
 *
 * Resolve, do not reject, what the chat will never take: an event that never expires would hold up all that
 * come after it.
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
        // A poller that is stopped keeps its cursor, so that this event comes again.
        if (signal.aborted || event.type === "message.create" || event.type === "dm.create") throw error;
        report(errorOf(`${event.type} ${event.id} was refused and is dropped`, error));
      }
      shown.add(event.id, timing.now());
    }
  };
}
