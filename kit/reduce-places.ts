import { DM_PREFIX } from "../contract/forms";
import type { OutboundEvent } from "./events";
import type { BridgeState } from "./reduce-state";

type PlacedEvent = Exclude<OutboundEvent, { type: "ping" }>;
type Open = Pick<BridgeState, "limits" | "creates" | "updates" | "ephemerals">;

/** The minimum share of a place while any room is left: one create, and one update that waits for this create. */
const SHARE_LEAST = 2;

/**
 * Returns a key for the place in which an event is shown: a channel, or a member's DM. A DM's key cannot equal a
 * channel's key, because a channel's id never begins with "dm:".
 */
export function placeOf(event: PlacedEvent): string {
  return event.type === "dm.create" ? DM_PREFIX + event.user : event.channel;
}

/** Returns a key for the place of an event. No key for a message equals this key. */
export function placeKey(event: PlacedEvent): string {
  return `place ${placeOf(event)}`;
}

/** Returns a key for the message of an event. */
export function messageKey({ message }: PlacedEvent): string {
  return `message ${message.id}`;
}

/** Returns the keys of a create that was skipped as `full`: its place and its message. */
export function skipKeys(event: OutboundEvent): readonly string[] {
  return event.type === "message.create" || event.type === "dm.create"
    ? [placeKey(event), messageKey(event)]
    : [];
}

/**
 * Returns whether an event would overtake a create that was skipped as `full`. Such an event is a later create in the
 * same place, or an update of the skipped message. Without its create, the update would be dropped after 5 seconds.
 */
export function isBehindSkipped(keys: ReadonlySet<string>, event: PlacedEvent): boolean {
  if (event.type === "message.update") return keys.has(messageKey(event));
  return event.type !== "message.ephemeral" && keys.has(placeKey(event));
}

/** Returns whether the state has no room for another event in a place. */
export function isPlaceFull(open: Open, place: string): boolean {
  return openIn(open, place) >= shareOf(open);
}

/**
 * Returns whether at least half of a place's share is free. A poller reads skipped events again only when half is free,
 * instead of after each event that the chat accepts.
 */
export function hasRoom(open: Open, place: string): boolean {
  return 2 * openIn(open, place) < shareOf(open);
}

/**
 * Returns the maximum number of pending events in a place. This share is proportional to the square of the free room.
 * With room for 1,000 events, the first waiting place gets at most 250, and about 60 further places get a share.
 */
function shareOf({ limits, creates, updates, ephemerals }: Open): number {
  const free = limits.open - creates.length - updates.size - ephemerals.size;
  if (free <= 0) return 0;
  return Math.min(limits.place, Math.max(SHARE_LEAST, free ** 2 / (2 * limits.open)));
}

/** Returns the number of pending events in a place. */
function openIn({ creates, updates, ephemerals }: Open, place: string): number {
  let count = 0;
  for (const { event } of creates) if (placeOf(event) === place) count++;
  for (const { event } of ephemerals.values()) if (placeOf(event) === place) count++;
  for (const { editing, next } of updates.values()) {
    const event = (editing ?? next)?.event;
    if (event !== undefined && placeOf(event) === place) count++;
  }
  return count;
}
