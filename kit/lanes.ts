import { setImmediate as nextTurn } from "node:timers/promises";
import { DM_PREFIX } from "../contract/forms";
import type { OutboundEvent } from "./events";

/** Queues of work. In the kit, a lane is one queue: its work runs in order, and different lanes run concurrently. */
export interface Lanes {
  /**
   * Queues `work`, which starts in a later turn of the event loop and must never reject. Returns false,
   * without queueing `work`, when the maximum number of items is queued or running.
   */
  offer(lane: string, work: () => Promise<void>): boolean;
  /** Number of queued and running items, over all lanes. */
  readonly size: number;
  /** Resolves when nothing is queued or running. */
  idle(): Promise<void>;
}

/** @param most maximum number of queued and running items, over all lanes */
export function createLanes(most: number): Lanes {
  const tails = new Map<string, Promise<void>>();
  let size = 0;
  return {
    get size() {
      return size;
    },
    offer(lane, work) {
      if (size >= most) return false;
      size++;
      const tail = runAfter(tails.get(lane) ?? nextTurn(), work).finally(() => {
        size--;
        if (tails.get(lane) === tail) tails.delete(lane);
      });
      tails.set(lane, tail);
      return true;
    },
    async idle() {
      while (tails.size > 0) await Promise.all(tails.values());
    },
  };
}

/** Returns the lane of an event. Events of one channel, or of one member's DM, share a lane. */
export function laneOf(event: OutboundEvent): string {
  if (event.type === "ping") return event.workspace;
  return `${event.workspace} ${event.type === "dm.create" ? DM_PREFIX + event.user : event.channel}`;
}

async function runAfter(before: Promise<void>, work: () => Promise<void>): Promise<void> {
  await before;
  await work();
}
