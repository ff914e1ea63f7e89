import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { findRedisServer } from "../../deploy/local/redis-server";

const run = promisify(execFile);

/**
 * Finds the Redis server of this test run, before the workers start. The tests use the server at the path in
 * REDIS_SERVER. If this variable is empty, the tests use the server that `npm start` would use, and install it if it is
 * missing. Throws if the server cannot run.
 */
export async function prepareRedisServer(say: (line: string) => void): Promise<void> {
  const chosen = process.env["REDIS_SERVER"] || undefined;
  if (chosen !== undefined) say(await versionOf(chosen));
  process.env["REDIS_SERVER"] = chosen ?? (await findRedisServer(say));
}

/** Returns the command of the server. The workers inherit the command from the process that ran `prepareRedisServer`. */
export function redisServer(): string {
  const server = process.env["REDIS_SERVER"];
  if (server === undefined) throw new Error("prepareRedisServer has not run");
  return server;
}

async function versionOf(server: string): Promise<string> {
  try {
    return (await run(server, ["--version"])).stdout.trim();
  } catch (error) {
    throw new Error(`cannot run the server ${server}, which REDIS_SERVER names`, { cause: error });
  }
}
