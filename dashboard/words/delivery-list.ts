import type { DeliveryShape, Result } from "../../edge/dashboard/shapes";
import { outcomeOf, type Outcome } from "./advice";

/** How many attempts and drops the service's log of a workspace keeps. */
export const LOGGED_MAX = 1_000;
/** How many entries of polls it keeps. */
export const POLLS_LOGGED_MAX = 500;

/** Two lists as one, newest first: what is in both is in it once, a run of polls as it was counted last. */
export function mergeDeliveries(
  some: readonly DeliveryShape[],
  others: readonly DeliveryShape[],
): readonly DeliveryShape[] {
  const byId = new Map<string, DeliveryShape>();
  for (const each of [...some, ...others]) {
    if ((byId.get(each.id)?.polls ?? 0) <= each.polls) byId.set(each.id, each);
  }
  const room = { polls: POLLS_LOGGED_MAX, pushes: LOGGED_MAX };
  return [...byId.values()]
    .toSorted(newestFirst)
    .filter(({ polls }) => room[polls > 0 ? "polls" : "pushes"]-- > 0);
}

/** Of the kind whose log is full, the oldest one, so that older ones may be missing; undefined where none can be. */
export function oldestKept(deliveries: readonly DeliveryShape[]): DeliveryShape | undefined {
  const [polls, pushes] = [
    deliveries.filter((each) => each.polls > 0),
    deliveries.filter((each) => each.polls === 0),
  ];
  const full = [
    ...(polls.length >= POLLS_LOGGED_MAX ? polls.slice(-1) : []),
    ...(pushes.length >= LOGGED_MAX ? pushes.slice(-1) : []),
  ];
  return full.toSorted(newestFirst)[0];
}

/** What a poll, or a run of polls, brought. */
export function broughtWords({ events }: Pick<DeliveryShape, "events">): string {
  if (events === 0) return "no events";
  return events === 1 ? "1 event" : `${events} events`;
}

/** Ids are "<ms>-<number>", and both count. */
function newestFirst(a: DeliveryShape, b: DeliveryShape): number {
  const [aMs = 0, aNumber = 0] = a.id.split("-").map(Number);
  const [bMs = 0, bNumber = 0] = b.id.split("-").map(Number);
  return bMs - aMs || bNumber - aNumber;
}

/** What of the log to show; an empty text stands for all. */
export interface DeliveryFilter {
  /** What came of it: a result, or all of an outcome. A poll has none. */
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
      (result === "" || (each.polls === 0 && [each.result, outcomeOf(each.result)].includes(result))) &&
      (eventType === "" || each.eventType === eventType) &&
      each.eventId.toLowerCase().includes(part),
  );
}
