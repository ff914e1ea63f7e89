import { accessSync, constants, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export type Say = (line: string) => void;

const ROOT = join(__dirname, "../..");

/**
 * The folder for programs that tests download or build: TOOLS_DIR, or `chat-bridge` in the user's cache folder. All
 * clones share the folder, so only the first run on a machine installs the programs. If the cache folder is not
 * writable, each clone has its own folder `.runtimes`.
 */
export const TOOLS_FOLDER = toolsFolder();

function toolsFolder(): string {
  const chosen = process.env["TOOLS_DIR"] || undefined;
  if (chosen !== undefined) return chosen;
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const folder = join(cache, "chat-bridge");
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    return join(ROOT, ".runtimes");
  }
}
