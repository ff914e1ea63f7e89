import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";

/** Maximum size in bytes of an existing file that `setup` reads. */
const FILE_MAX_BYTES = 1_048_576;

/** Reads the existing files of a machine whose root folder is `root`. */
export class KnownFiles {
  constructor(readonly root: string) {}

  /** Returns the path on this machine for a path below the root. */
  locate(path: string): string {
    return join(this.root, path);
  }

  /** Returns the text of a file, or undefined if the file does not exist. */
  read(path: string): string | undefined {
    const located = this.locate(path);
    try {
      const stats = statSync(located);
      // The user `redis` owns one of the folders, and could put a link to a pipe or a device into it.
      if (!stats.isFile()) throw new Error(`${located} is not a file: remove it, and run setup again`);
      if (stats.size > FILE_MAX_BYTES) throw new Error(`${located} is larger than 1 MB`);
      return readFileSync(located, "utf8");
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" || code === "ENOTDIR") return undefined;
      throw error;
    }
  }

  /** Returns the settings in a file, or an empty object if the file does not exist. */
  settings(path: string): Readonly<Record<string, string | undefined>> {
    return parseEnv(this.read(path) ?? "");
  }
}

/** Returns the lines of a text, without comments and empty lines. */
export function entriesOf(text: string): readonly string[] {
  return text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}
