import { setTimeout as sleep } from "node:timers/promises";
import { LRUCache } from "lru-cache";

const EVENTS_KEPT = 1_000;
/** Maximum milliseconds for which the bridge waits until the kit has saved an event. */
const SAVED_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 20;

export type UnsavedEvents = ReturnType<typeof createUnsavedEvents>;

/**
 * The ids of the service's events that the bridge is showing, until the kit has saved them.
 *
 * Members see a message, and can answer it, before the kit has saved its ids. So after the bridge has read its own
 * event in the timeline, it waits for the save before it reads the next event. The bridge saves the position of the
 * sync only after the kit's save. So after a crash, the bridge again reads each of its own events that the kit had not
 * saved.
 */
export function createUnsavedEvents(signal: AbortSignal) {
  const unsaved = new LRUCache<string, true>({ max: EVENTS_KEPT });

  async function wait(isSaved: () => boolean): Promise<void> {
    const untilMs = performance.now() + SAVED_WITHIN_MS;
    while (!isSaved() && performance.now() < untilMs) await sleep(LOOK_EVERY_MS, undefined, { signal });
  }

  return {
    begin: (id: string): void => void unsaved.set(id, true),
    /** Notes that the kit has saved the event, or has dropped it. */
    end: (id: string): void => void unsaved.delete(id),
    /** Resolves when the kit has saved the event, or after 5 seconds. Rejects when the bridge stops. */
    untilSaved: (id: string): Promise<void> => wait(() => !unsaved.has(id)),
    /** Resolves when the kit has saved all events, or after 5 seconds. Rejects when the bridge stops. */
    untilAllSaved: (): Promise<void> => wait(() => unsaved.size === 0),
  };
}
