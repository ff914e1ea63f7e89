import { setImmediate as nextTurn } from "node:timers/promises";
import { DM_PREFIX } from "../contract/forms";
import type { OutboundEvent } from "./events";

/** Named queues of work. The work of one queue runs in order. Different queues run concurrently. */
export interface SerialQueues {
  /**
   * Queues `work`, which starts in a later turn of the event loop and must never reject. Returns false,
   * without queueing `work`, when the maximum number of items is queued or running. One queue gets at most 80 percent of
   * this number, and less while other queues are long.
   */
  offer(queue: string, work: () => Promise<void>): boolean;
  /** Number of queued and running items in all queues. */
  readonly size: number;
  /** Resolves when nothing is queued or running. */
  idle(): Promise<void>;
}

/** A queue may be at most this many times as long as the free room, so one long queue leaves room for others. */
const MULTIPLE_OF_FREE = 4;

/** @param most maximum number of queued and running items in all queues */
export function createSerialQueues(most: number): SerialQueues {
  /** The non-empty queues. `tail` resolves when the queue's last item has run. */
  const queues = new Map<string, { size: number; tail: Promise<void> }>();
  let size = 0;
  return {
    get size() {
      return size;
    },
    offer(queue, work) {
      const known = queues.get(queue);
      if ((known?.size ?? 0) >= MULTIPLE_OF_FREE * (most - size)) return false;
      size++;
      const entry = known ?? { size: 0, tail: Promise.resolve() };
      entry.size++;
      entry.tail = runAfter(known?.tail ?? nextTurn(), work).finally(() => {
        size--;
        entry.size--;
        if (entry.size === 0) queues.delete(queue);
      });
      queues.set(queue, entry);
      return true;
    },
    async idle() {
      while (queues.size > 0) await Promise.all([...queues.values()].map(({ tail }) => tail));
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
