import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * A JSON file in the state folder, readable only by the bridge's user. After a crash, the file has the complete old or
 * the complete new content.
 */
export interface StateFile<T> {
  /** Resolves to the saved value; undefined if there is none. Rejects when the file cannot be read or is not JSON. */
  load(): Promise<T | undefined>;
  /** Resolves once the value would survive a crash. */
  save(value: T): Promise<void>;
}

export function stateFile<T>(path: string): StateFile<T> {
  return {
    async load() {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw error;
      });
      if (text === undefined) return undefined;
      try {
        return JSON.parse(text) as T;
      } catch {
        throw new Error(`${path} is not JSON: remove the file, and the bridge starts from now`);
      }
    },
    async save(value) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const unfinished = `${path}.${process.pid}.new`;
      try {
        await writeSynced(unfinished, JSON.stringify(value));
        await rename(unfinished, path);
        await syncFolder(dirname(path));
      } catch (error) {
        await rm(unfinished, { force: true });
        throw error;
      }
    },
  };
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, "w", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A rename is durable only once its folder is synced. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
