import { placeOf } from "./reduce-places";
import type { BridgeState } from "./reduce-state";

/** A channel or a direct conversation whose messages wait because the chat refuses them. */
export interface WaitingPlace {
  /** Id of the channel; `dm:<user id>` for a direct conversation. */
  readonly channel: string;
  /** Number of messages that wait. */
  readonly messages: number;
  /** Time of the first refusal. */
  readonly since: Date;
  /** The reason for the last refusal: the first 200 characters of the error's message. */
  readonly problem: string;
}

/** Maximum number of places that `list` returns. Those that have waited longest come first. */
const PLACES_MOST = 20;
const PROBLEM_MOST = 200;

/** The chat's refusals, keyed by place. A place is removed once none of its refused creates is pending. */
export class WaitingPlaces {
  readonly #refused = new Map<string, { readonly sinceMs: number; readonly problem: string }>();

  /** Records that the chat refused a create. Removes places that no longer wait, so the number of places is bounded. */
  note(place: string, problem: string, state: BridgeState): void {
    const waiting = countsOf(state);
    for (const known of this.#refused.keys()) if (!waiting.has(known)) this.#refused.delete(known);
    const sinceMs = this.#refused.get(place)?.sinceMs ?? Date.now();
    this.#refused.set(place, { sinceMs, problem: problem.slice(0, PROBLEM_MOST) });
  }

  list(state: BridgeState): readonly WaitingPlace[] {
    const waiting = countsOf(state);
    const places = [...this.#refused].flatMap(([channel, { sinceMs, problem }]) => {
      const messages = waiting.get(channel);
      return messages === undefined ? [] : [{ channel, messages, since: new Date(sinceMs), problem }];
    });
    return places.toSorted((a, b) => a.since.getTime() - b.since.getTime()).slice(0, PLACES_MOST);
  }
}

/** Returns the number of pending creates for each place where the chat has refused at least one of them. */
function countsOf({ creates }: BridgeState): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { event, refusals } of creates) if (refusals > 0) counts.set(placeOf(event), 0);
  for (const { event } of creates) {
    const count = counts.get(placeOf(event));
    if (count !== undefined) counts.set(placeOf(event), count + 1);
  }
  return counts;
}
