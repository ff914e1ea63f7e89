import { readIfThere, replaceDurably } from "./durable-file";
import { isCursor } from "./read-event";

/** A store for the cursor of a poller. Each workspace needs its own store. */
export interface CursorStore {
  /** Resolves to the last saved cursor; undefined if no cursor was saved. */
  load(): Promise<string | undefined>;
  /** Resolves once the cursor would survive a crash. */
  save(cursor: string): Promise<void>;
}

/**
 * Returns a store that keeps the cursor in a file. After a crash, the file holds the complete old cursor or the
 * complete new cursor. `load` resolves to undefined when the file does not exist. `load` rejects when the file cannot
 * be read or holds no cursor.
 */
export function cursorFile(path: string): CursorStore {
  return {
    async load() {
      const cursor = (await readIfThere(path))?.trim();
      if (cursor === undefined || isCursor(cursor)) return cursor;
      throw new Error(`${path} holds no cursor: remove the file to start from the oldest held event`);
    },
    save: (cursor) => replaceDurably(path, `${cursor}\n`),
  };
}

/** Returns a store that keeps the cursor only in memory: after a restart, `load` resolves to undefined. */
export function cursorInMemory(): CursorStore {
  let kept: string | undefined;
  return {
    load: async () => kept,
    async save(cursor) {
      kept = cursor;
    },
  };
}
