import type { OutboundEvent } from "./events";
import { openJournal } from "./journal";
import { isObject, readEvent } from "./read-event";

/**
 * A store for the events of pushes. After a restart, the bridge shows the stored events, i.e. events that it had
 * accepted, but not yet shown. The bridge keeps at most 16 MiB of events in the store.
 */
export interface PushStore {
  /** Resolves to the stored events, in the order of `add`. Called once, before the first `add`. */
  load(): Promise<readonly OutboundEvent[]>;
  /**
   * Resolves once the event would survive a crash. Only then is the push answered. If `add` rejects, the push is
   * answered with `503`.
   */
  add(event: OutboundEvent): Promise<void>;
  /** Removes an event that was shown or dropped. If a crash undoes the removal, the event may be shown again. */
  remove(eventId: string): Promise<void>;
}

/** Growth of the file after which the file is compacted, in UTF-16 code units. */
const GROWTH_MAX = 4 * 1024 * 1024;

interface Stored {
  readonly event: OutboundEvent;
}

/**
 * Returns a store that appends each stored event and each removal to a file, one JSON value per line. Events that are
 * stored at the same time share one write. `load` skips lines that a crash left incomplete.
 */
export function pushFile(path: string, growthMax = GROWTH_MAX): PushStore {
  const journal = openJournal<Stored | { readonly removed: string }>(path, {
    growthMax,
    keep: (values) => [...readStored(values).values()],
  });
  return {
    load: async () => (await journal.load()).flatMap((entry) => ("event" in entry ? [entry.event] : [])),
    add: (event) => journal.append({ event }),
    remove: (removed) => journal.append({ removed }),
  };
}

/** Returns the events that were stored and not removed, by their ids. */
function readStored(values: Iterable<unknown>): ReadonlyMap<string, Stored> {
  const stored = new Map<string, Stored>();
  for (const value of values) {
    if (!isObject(value)) continue;
    if (typeof value["removed"] === "string") stored.delete(value["removed"]);
    const reading = readEvent(value["event"]);
    if ("event" in reading) stored.set(reading.event.id, { event: reading.event });
  }
  return stored;
}
