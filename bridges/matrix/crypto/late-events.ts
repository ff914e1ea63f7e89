import type { MatrixEvent } from "../client/events";

const EVENTS_MAX = 500;
const OF_MEMBER_MAX = 50;
/** Milliseconds for which an event waits for its key. */
const KEPT_MS = 5 * 60_000;

export interface LateEvent {
  readonly roomId: string;
  readonly event: MatrixEvent;
  readonly atMs: number;
}

/**
 * The encrypted events whose key has not arrived yet. A key can arrive after its event, e.g. if the key comes from
 * another homeserver. A crash loses these events.
 *
 * @param now returns the time of a monotonic clock, ms
 */
export function createLateEvents(now: () => number = () => performance.now()) {
  let waiting: LateEvent[] = [];

  return {
    /** Keeps an event. If there are too many events, drops the oldest one of the same member, or of all members. */
    add(roomId: string, event: MatrixEvent): void {
      waiting.push({ roomId, event, atMs: now() });
      const ofMember = waiting.filter((late) => late.event.sender === event.sender);
      const dropped =
        ofMember.length > OF_MEMBER_MAX ? ofMember[0] : waiting.length > EVENTS_MAX ? waiting[0] : undefined;
      if (dropped !== undefined) waiting = waiting.filter((late) => late !== dropped);
    },
    /** Removes all events, and returns those that have not waited too long, the oldest first. */
    take(): readonly LateEvent[] {
      const taken = waiting.filter(({ atMs }) => now() - atMs <= KEPT_MS);
      waiting = [];
      return taken;
    },
    /** Keeps an event that `take` returned. */
    putBack: (late: LateEvent): void => void waiting.push(late),
  };
}
