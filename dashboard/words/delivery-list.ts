import type { DeliveryShape, Result } from "../../edge/dashboard/shapes";
import { outcomeOf, type Outcome } from "./advice";

/** All that the service's log of a workspace keeps. */
export const LOGGED_MAX = 1_000;

/** Two lists as one, newest first: what is in both is in it once. */
export function mergeDeliveries(
  some: readonly DeliveryShape[],
  others: readonly DeliveryShape[],
): readonly DeliveryShape[] {
  const byId = new Map([...some, ...others].map((each) => [each.id, each]));
  return [...byId.values()].toSorted(newestFirst).slice(0, LOGGED_MAX);
}

/** Ids are "<ms>-<number>", and both count. */
function newestFirst(a: DeliveryShape, b: DeliveryShape): number {
  const [aMs = 0, aNumber = 0] = a.id.split("-").map(Number);
  const [bMs = 0, bNumber = 0] = b.id.split("-").map(Number);
  return bMs - aMs || bNumber - aNumber;
}

/** What of the log to show; an empty text stands for all. */
export interface DeliveryFilter {
  /** What came of it: a result, or all of an outcome. */
  readonly result: Outcome | Result | "";
  readonly eventType: string;
  /** A part of the event's id. */
  readonly event: string;
}

export const ALL_DELIVERIES: DeliveryFilter = { result: "", eventType: "", event: "" };

export function filterDeliveries(
  deliveries: readonly DeliveryShape[],
  { result, eventType, event }: DeliveryFilter,
): readonly DeliveryShape[] {
  const part = event.trim().toLowerCase();
  return deliveries.filter(
    (each) =>
      (result === "" || each.result === result || outcomeOf(each.result) === result) &&
      (eventType === "" || each.eventType === eventType) &&
      each.eventId.toLowerCase().includes(part),
  );
}
