import { open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
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
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw error;
      });
      const cursor = text?.trim();
      if (cursor === undefined || isCursor(cursor)) return cursor;
      throw new Error(`${path} holds no cursor: remove the file to start from the oldest held event`);
    },
    async save(cursor) {
      const unfinished = `${path}.${process.pid}.new`;
      try {
        await writeDurably(unfinished, `${cursor}\n`);
        await rename(unfinished, path);
      } catch (error) {
        await rm(unfinished, { force: true });
        throw error;
      }
      await syncFolder(dirname(path));
    },
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

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, "w", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Syncs a folder: only then is a rename in the folder durable. Windows cannot sync folders. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
