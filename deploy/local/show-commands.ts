import { existsSync } from "node:fs";
import { join } from "node:path";
import { FolderInUse, lockFolder } from "../../kit/folder-lock";
import { commandsText } from "./commands-text";
import { reachable } from "./listen-addresses";
import { signInLink } from "./operator";
import { readKeptSettings } from "./settings-file";
import { StartFault } from "./start-fault";

/**
 * Resolves to the addresses, tokens and commands of the service that runs in a data folder. Throws StartFault when no
 * service runs there.
 */
export async function runningCommands(dataDir: string): Promise<string> {
  const keptFile = join(dataDir, "settings.json");
  const pid = await holderOf(dataDir, keptFile);
  const { tokens, running } = readKeptSettings(keptFile);
  if (running === undefined || (pid !== undefined && running.pid !== pid)) {
    throw new StartFault(
      `The service in ${dataDir} is still starting. Repeat the command when it is running.`,
    );
  }
  const signIn = await signInLink(`http://${reachable(running.listen.DASHBOARD_LISTEN)}`, tokens.operator);
  return commandsText({ ...running, tokens, signIn, logs: join(dataDir, "logs"), keptFile });
}

/**
 * Resolves to the id of the process that runs the service in a folder; undefined if the id is unknown. Throws
 * StartFault when no service runs there.
 */
async function holderOf(dataDir: string, keptFile: string): Promise<number | undefined> {
  try {
    // The first start locks the folder before it creates the settings, so no service runs if there are no settings.
    if (existsSync(keptFile)) (await lockFolder(dataDir)).release();
  } catch (error) {
    if (error instanceof FolderInUse) return error.pid;
    throw new StartFault(`DATA_DIR: ${(error as Error).message}`);
  }
  throw new StartFault(
    `No service is running in ${dataDir}. Run npm start, and then repeat this command in another terminal.`,
  );
}
