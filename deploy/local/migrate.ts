import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { NODE_FLAGS } from "./children";
import { logTail, spawnGuarded, stopChild } from "./guarded-child";
import { ask } from "./redis-address";
import { StartFault } from "./start-fault";

/** Matches the mark of a Redis that release 1.0.0-beta.1 used, or in which a migration was interrupted. */
const OLD_MARK = /^\d+$|^\d+ .*migrating=2\b/;
const STOP_WITHIN_MS = 5_000;

/** Returns whether the data in Redis must be migrated before a core of this release can start. */
export async function needsMigration(redisUrl: string): Promise<boolean> {
  return OLD_MARK.test((await ask(redisUrl, "GET cb:shards")) ?? "");
}

/**
 * Migrates the data in Redis. Resolves to the number of converted events, as text. Throws StartFault when the migration
 * fails.
 *
 * @param env environment of core
 */
export async function migrate(env: NodeJS.ProcessEnv, logFile: string, signal: AbortSignal): Promise<string> {
  const main = join(__dirname, "../../core/main.js");
  const child = spawnGuarded([process.execPath, ...NODE_FLAGS, main, "migrate"], { logFile, env });
  const stop = (): void => void stopChild(child, STOP_WITHIN_MS);
  signal.addEventListener("abort", stop);
  const [code] = (await once(child, "exit")) as [number | null];
  signal.removeEventListener("abort", stop);
  signal.throwIfAborted();
  if (code !== 0) {
    throw new StartFault(
      `The data of an older release cannot be converted. The log is ${logFile}:\n${logTail(logFile)}`,
    );
  }
  return /^held events converted: (.*)$/m.exec(readFileSync(logFile, "utf8"))?.[1] ?? "0";
}
