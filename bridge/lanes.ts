import { setImmediate as nextTurn } from "node:timers/promises";

/** Work that is done in order within a lane, and side by side between lanes. */
export interface Lanes {
  /** Takes work that never rejects; it begins in a later turn of the event loop. False: no room is left. */
  offer(lane: string, work: () => Promise<void>): boolean;
  /** How much waits or is under way. */
  readonly size: number;
  /** Resolves when nothing waits or is under way any more. */
  idle(): Promise<void>;
}

/** @param most how much may wait or be under way, over all lanes */
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

async function runAfter(before: Promise<void>, work: () => Promise<void>): Promise<void> {
  await before;
  await work();
}
