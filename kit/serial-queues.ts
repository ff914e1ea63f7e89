import { setImmediate as nextTurn } from "node:timers/promises";
import { DM_PREFIX } from "../contract/forms";
import type { OutboundEvent } from "./events";

/** Named queues of work. The work of one queue runs in order. Different queues run concurrently. */
export interface SerialQueues {
  /**
   * Queues `work`, which starts in a later turn of the event loop and must never reject. Returns false,
   * without queueing `work`, when the maximum number of items is queued or running.
   */
  offer(queue: string, work: () => Promise<void>): boolean;
  /** Number of queued and running items, over all queues. */
  readonly size: number;
  /** Resolves when nothing is queued or running. */
  idle(): Promise<void>;
}

/** @param most maximum number of queued and running items, over all queues */
export function createSerialQueues(most: number): SerialQueues {
  const tails = new Map<string, Promise<void>>();
  let size = 0;
  return {
    get size() {
      return size;
    },
    offer(queue, work) {
      if (size >= most) return false;
      size++;
      const tail = runAfter(tails.get(queue) ?? nextTurn(), work).finally(() => {
        size--;
        if (tails.get(queue) === tail) tails.delete(queue);
      });
      tails.set(queue, tail);
      return true;
    },
    async idle() {
      while (tails.size > 0) await Promise.all(tails.values());
    },
  };
}

/** Returns the name of an event's queue. Events of one channel, or of one member's DM, share a queue. */
export function queueOf(event: OutboundEvent): string {
  if (event.type === "ping") return event.workspace;
  return `${event.workspace} ${event.type === "dm.create" ? DM_PREFIX + event.user : event.channel}`;
}

async function runAfter(before: Promise<void>, work: () => Promise<void>): Promise<void> {
  await before;
  await work();
}
