import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { readIfThere, replaceDurably } from "chat-bridge-kit/durable-file";

export type StateFile<T> = ReturnType<typeof stateFile<T>>;

/**
 * A JSON file in the state folder, readable only by the bridge's user. After a crash, the file contains either the
 * complete old content or the complete new content.
 */
export function stateFile<T>(path: string) {
  return {
    /**
     * Resolves to the saved value, or to undefined if there is none. Rejects when the file cannot be read or is not
     * JSON.
     */
    async load(): Promise<T | undefined> {
      const text = await readIfThere(path);
      if (text === undefined) return undefined;
      try {
        return JSON.parse(text) as T;
      } catch {
        throw new Error(`${path} is not JSON: remove the file, and the bridge starts without this state`);
      }
    },
    /** Resolves once the value would survive a crash. */
    async save(value: T): Promise<void> {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await replaceDurably(path, JSON.stringify(value));
    },
  };
}
