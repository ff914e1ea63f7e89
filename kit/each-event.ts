import { HELD_SECONDS } from "../contract/numbers";
import { REAL_TIMING, type Timing } from "./back-off";
import { isExpired, type EventPage, type OutboundEvent } from "./events";
import { PageUnfinished } from "./page-progress";
import { errorOf, warn } from "./problem";
import { messageKey, placeKey, skipKeys } from "./reduce-places";
import { createSeenIds } from "./seen-ids";

export interface EachEventOptions {
  /** Called for each event that is dropped because `show` rejected. The default emits a process warning. */
  readonly report?: (problem: Error) => void;
  readonly timing?: Timing;
}

/**
 * Maximum number of seen event ids, kept for 24 hours. The poller reads at most 1,000 events again, plus a page of 100
 * events.
 */
const SEEN_MOST = 10_000;
const SEEN_FOR_MS = HELD_SECONDS * 1_000;

/**
 * Returns a poller's `handle`, which calls `show` for each event of a page, in order (bridge guide, "Rules for
 * events"). Events past their `expiresAt` and events that were already shown are skipped. When `show` rejects a
 * `message.create` or `dm.create`, the later events of its channel or DM are not shown, and the page is rejected. The
 * poller then reads on, and reads these events again in the next round. Meanwhile, the events of other channels are
 * shown. When `show` rejects any other event, that event is dropped.
 *
 * `show` must resolve for an event that the chat will never accept. Otherwise, a create that never expires would block
 * all later events of its channel. `show` must also be quick: the next event waits for it. `createCatchUp` does not have
 * these limits.
 */
export function eachEvent(
  show: (event: OutboundEvent, signal: AbortSignal) => Promise<void> | void,
  { report = warn, timing = REAL_TIMING }: EachEventOptions = {},
): (page: EventPage, signal: AbortSignal) => Promise<void> {
  const shown = createSeenIds({ forMs: SEEN_FOR_MS, most: SEEN_MOST });
  const refused = new RefusedCreates();

  /** Resolves to the reason why the event must be read again; undefined if it is shown or dropped. */
  async function take(event: OutboundEvent, signal: AbortSignal): Promise<unknown> {
    refused.forget(event);
    if (shown.has(event.id, timing.now()) || isExpired(event, timing.now())) return undefined;
    const reason = refused.reasonBefore(event);
    if (reason !== undefined) return reason;
    try {
      await show(event, signal);
    } catch (error) {
      // A poller that stops does not move its cursor, so this event will be polled again.
      if (signal.aborted) throw error;
      if (refused.add(event, error)) return error;
      report(errorOf(`${event.type} ${event.id} was refused and dropped`, error));
    }
    shown.add(event.id, timing.now());
    return undefined;
  }

  return async ({ events }, signal) => {
    let problem: Error | undefined;
    for (const event of events) {
      signal.throwIfAborted();
      const reason = await take(event, signal);
      if (reason !== undefined) problem ??= errorOf(`${event.type} ${event.id} waits`, reason);
    }
    if (problem !== undefined) throw new PageUnfinished(problem, () => refused.clear());
  };
}

/**
 * The creates that the chat refused, by the keys of their places and messages. The poller reads at most 1,000 events in
 * a round, and each round begins with `clear`, so the number of creates is bounded.
 */
class RefusedCreates {
  readonly #byKey = new Map<string, { readonly sequence: number; readonly reason: unknown }>();

  /** Returns false if the event is not a create. */
  add(event: OutboundEvent, reason: unknown): boolean {
    const keys = skipKeys(event);
    for (const key of keys) this.#byKey.set(key, { sequence: event.sequence, reason });
    return keys.length > 0;
  }

  /** Forgets a create that is read again. */
  forget(event: OutboundEvent): void {
    for (const key of skipKeys(event)) {
      if (this.#byKey.get(key)?.sequence === event.sequence) this.#byKey.delete(key);
    }
  }

  /** Returns why the chat refused a create that the event must not overtake; undefined if there is no such create. */
  reasonBefore(event: OutboundEvent): unknown {
    if (event.type === "ping") return undefined;
    const keys = [placeKey(event), messageKey(event)];
    return keys.map((key) => this.#byKey.get(key)).find((create) => isBefore(create, event))?.reason;
  }

  clear(): void {
    this.#byKey.clear();
  }
}

function isBefore(create: { readonly sequence: number } | undefined, event: OutboundEvent): boolean {
  return create !== undefined && create.sequence < event.sequence;
}
