import type { WindowShare } from "../ports/follow-log";

/** A smaller window is not shared, because half of it would be one event or none. */
const SHARED_WINDOW_MIN = 3;
/** The part of the window that each workspace can use, even when the other workspaces use most of the window. */
const LEAST_PART = 1 / 8;

/**
 * Returns the rule by which the workspaces share the window. One busy workspace uses at most half of the window, and two
 * use at most a third each. So the events of one or two workspaces leave room for those of others. While the consumer
 * acks fast, the shares are larger: see `largerShare`.
 *
 * @param counts the number of events in flight of each workspace; `Infinity` for a workspace whose next events must
 * wait
 */
export function shareOf(window: number, room: number, counts: ReadonlyMap<string, number>): WindowShare {
  return { room, least: window < SHARED_WINDOW_MIN ? window : window * LEAST_PART, counts };
}

/**
 * Whether the window has room for another event of a workspace with `inFlight` events in flight. The store applies the
 * same rule: see follow.lua.
 */
export function hasPlace(inFlight: number, { room, least }: Pick<WindowShare, "room" | "least">): boolean {
  return room > 0 && (inFlight < room || inFlight < least);
}

/**
 * Returns how many more events of a workspace with `inFlight` events in flight fit in the window, if no other workspace
 * uses its room.
 */
export function placesFor(inFlight: number, { room, least }: Pick<WindowShare, "room" | "least">): number {
  let places = 0;
  while (hasPlace(inFlight + places, { room: room - places, least })) places++;
  return places;
}
