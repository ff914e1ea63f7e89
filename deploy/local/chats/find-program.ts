import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Returns the path of a program; undefined if the program is not installed. */
export type FindProgram = (name: string) => string | undefined;

/**
 * Folders in which packages install servers, but which are often not in the user's PATH. The last folder is Synapse's.
 */
const MORE_FOLDERS = [
  "/usr/sbin",
  "/usr/local/sbin",
  "/opt/homebrew/bin",
  "/opt/homebrew/sbin",
  "/opt/venvs/matrix-synapse/bin",
];

/** Returns a function that finds a program in the first folder that contains it. */
export function programFinder(
  folders: readonly string[] = [...(process.env["PATH"] ?? "").split(delimiter), ...MORE_FOLDERS],
): FindProgram {
  return (name) => folders.map((folder) => join(folder, name)).find(isExecutable);
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
