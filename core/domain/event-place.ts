import { RESULT_MEANINGS, type EventPlace } from "../../contract/deliveries";
import { isPoll, type Delivery } from "./delivery";

/** The information that the store contains about an event. */
export interface EventTraces {
  /** Whether the event is held for polling, and whether a poll has already returned it; undefined if it is not held. */
  readonly held: { readonly isFetched: boolean } | undefined;
  readonly isQueued: boolean;
  /** Whether core keeps the event as a failed event. */
  readonly isKept: boolean;
  /** The event's entries in the delivery log, oldest first. */
  readonly deliveries: readonly Pick<Delivery, "eventType" | "result">[];
}

/**
 * Returns where an event is; undefined when the store contains nothing about it. An event that is held or queued can
 * have older entries in the log, e.g. because its push failed and an operator sent it again.
 */
export function placeOf({ held, isQueued, isKept, deliveries }: EventTraces): EventPlace | undefined {
  if (held !== undefined) return held.isFetched ? "fetched" : "held";
  if (isQueued) return "queued";
  const last = deliveries.findLast((delivery) => !isPoll(delivery));
  if (last === undefined) return isKept ? "failed" : undefined;
  const { outcome } = RESULT_MEANINGS[last.result];
  return outcome === "success" ? "delivered" : outcome;
}
