import type { WindowShare } from "../ports/follow-log";

/** A run of deliveries ends when no event was delivered for this long. */
const RUN_GAP_MS = 100;
/** The part of the window that stays free for other workspaces while the workspaces of a shard get larger shares. */
const FREE_PART = 1 / 8;
/** The part of the window that each workspace can have when several have events in flight. */
const PART_OF_SEVERAL = 1 / 2;

/** Measures how fast the consumer of a stream acks. */
export class Pace {
  #run = { events: 0, at: -Infinity };

  /** Must be called when events were delivered. */
  add(events: number, now: number): void {
    this.#run = { events: (this.#hasRun(now) ? this.#run.events : 0) + events, at: now };
  }

  #hasRun(now: number): boolean {
    return now - this.#run.at <= RUN_GAP_MS;
  }

  /** Whether the consumer has acked at least half a window of events without a pause. */
  isFast(window: number, inFlight: number, now: number): boolean {
    return this.#hasRun(now) && this.#run.events - inFlight >= window / 2;
  }
}

/**
 * Returns a larger share, for workspaces whose consumer acks fast. With smaller shares, each read returns fewer events,
 * and each event costs more. If the consumer then stops acking, the free part of the window has room for other
 * workspaces.
 *
 * @param isAlone whether only one workspace has events in flight, and the next events are probably its own
 */
export function largerShare(share: WindowShare, window: number, isAlone: boolean): WindowShare {
  const room = share.room - Math.ceil(window * FREE_PART);
  return room <= 0 ? share : { ...share, room, least: isAlone ? window : window * PART_OF_SEVERAL };
}
