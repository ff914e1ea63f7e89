import { hasPlace } from "./window-share";

/** The events in flight of one workspace. */
export interface Busy {
  readonly inFlight: number;
  /** The `performance.now()` time at which the first of them was delivered. */
  readonly since: number;
}

/** The part of the window that is free, by the rule in window-share.ts. */
interface Free {
  readonly room: number;
  readonly least: number;
}

/**
 * A workspace is slow if its first event in flight is older than `SLOW_AFTER_MS` plus `SLOW_PER_EVENT_MS` for each
 * event in flight. Its consumer then acks fewer than about 2,000 of the workspace's events per second.
 */
const SLOW_AFTER_MS = 20;
const SLOW_PER_EVENT_MS = 0.5;

/**
 * Returns the `performance.now()` time until which a stream waits before it reads the next events of a shard; `now` if it
 * must not wait. The next events are probably events of the workspaces that have used up their share of the window. If
 * the stream reads these events, it must park them, which doubles their cost in Redis. If the consumer acks fast, the
 * window soon has room for them. So the stream reads past a workspace only when the workspace is slow.
 */
export function readsAfter(busy: readonly Busy[], free: Free, now: number): number {
  const full = busy.filter(({ inFlight }) => !hasPlace(inFlight, free));
  return Math.max(now, ...full.map(slowAt));
}

/** Returns the `performance.now()` time at which a workspace becomes slow, if the consumer acks none of its events. */
function slowAt({ inFlight, since }: Busy): number {
  return since + SLOW_AFTER_MS + inFlight * SLOW_PER_EVENT_MS;
}

export function isSlow(busy: Busy, now: number): boolean {
  return slowAt(busy) <= now;
}

/**
 * Returns how many of the next events probably have a place in the window; at least 1.
 *
 * @param busiestPart the fraction of the next events that belong to the workspace with the most events, above 0 and at
 * most 1
 */
export function probablyFitting(busy: readonly Busy[], { room, least }: Free, busiestPart: number): number {
  const most = busy.reduce((max, { inFlight }) => Math.max(max, inFlight), 0);
  // The last of `count` events has a place if its workspace has fewer events in flight than there is room for, or fewer
  // than `least`. At that time, `most + busiestPart * count - 1` events are in flight, and the room is `room - count + 1`.
  const byRoom = Math.ceil((room - most + 2) / (1 + busiestPart)) - 1;
  const byLeast = Math.ceil((least - most + 1) / busiestPart) - 1;
  return Math.max(1, Math.min(room, Math.max(byRoom, byLeast)));
}

/**
 * Returns the fraction of the entries that belong to the workspace with the most entries; 1 if there are no entries.
 */
export function busiestPartOf(entries: readonly { readonly workspaceId: string }[]): number {
  const counts = new Map<string, number>();
  let most = 0;
  for (const { workspaceId } of entries) {
    const count = (counts.get(workspaceId) ?? 0) + 1;
    counts.set(workspaceId, count);
    most = Math.max(most, count);
  }
  return entries.length === 0 ? 1 : most / entries.length;
}
