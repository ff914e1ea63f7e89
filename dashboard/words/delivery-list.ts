import { POLLS_LOGGED_MAX, PUSHES_LOGGED_MAX } from "../../contract/deliveries";
import type { DeliveryShape } from "../../proto/json/shapes";

/**
 * Merges two lists of deliveries. The result is sorted newest first, without duplicates. If both lists contain an entry
 * for the same run of polls, the result contains the entry with more polls.
 */
export function mergeDeliveries(
  some: readonly DeliveryShape[],
  others: readonly DeliveryShape[],
): readonly DeliveryShape[] {
  const byId = new Map<string, DeliveryShape>();
  for (const each of [...some, ...others]) {
    if ((byId.get(each.id)?.polls ?? 0) <= each.polls) byId.set(each.id, each);
  }
  const room = { polls: POLLS_LOGGED_MAX, pushes: PUSHES_LOGGED_MAX };
  return [...byId.values()]
    .toSorted(newestFirst)
    .filter(({ polls }) => room[polls > 0 ? "polls" : "pushes"]-- > 0);
}

/**
 * Returns undefined if the list is complete. Otherwise, deliveries that are older than the returned delivery may be
 * missing. The log keeps a limited number of entries of each kind: polls and pushes. If the list contains the maximum
 * number of entries of one kind, the result is the oldest delivery of that kind. If the list is full of both kinds, the
 * result is the newer of the two oldest deliveries.
 */
export function oldestKept(deliveries: readonly DeliveryShape[]): DeliveryShape | undefined {
  const [polls, pushes] = [
    deliveries.filter((each) => each.polls > 0),
    deliveries.filter((each) => each.polls === 0),
  ];
  const full = [
    ...(polls.length >= POLLS_LOGGED_MAX ? polls.slice(-1) : []),
    ...(pushes.length >= PUSHES_LOGGED_MAX ? pushes.slice(-1) : []),
  ];
  return full.toSorted(newestFirst)[0];
}

/** Says how many events a poll or a run of polls returned. */
export function broughtWords({ events }: Pick<DeliveryShape, "events">): string {
  return events === 0 ? "no events" : countOf(events, "event");
}

/** Returns a number with its noun: "1 event", "1,200 events". */
export function countOf(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** Says how many push attempts (including dropped pushes) and how many polls a list contains. */
export function loggedWords(deliveries: readonly DeliveryShape[]): string {
  const polls = deliveries.reduce((sum, each) => sum + each.polls, 0);
  const pushes = deliveries.filter((each) => each.polls === 0).length;
  return [
    ...(pushes > 0 ? [countOf(pushes, "push attempt")] : []),
    ...(polls > 0 ? [countOf(polls, "poll")] : []),
  ].join(", ");
}

/**
 * Puts the newer delivery first. A run of polls is sorted by its first poll. An id is `<ms>-<number>`; the number
 * orders the deliveries of one millisecond.
 */
export function newestFirst(a: DeliveryShape, b: DeliveryShape): number {
  const [aMs = 0, aNumber = 0] = a.id.split("-").map(Number);
  const [bMs = 0, bNumber = 0] = b.id.split("-").map(Number);
  return bMs - aMs || bNumber - aNumber;
}
