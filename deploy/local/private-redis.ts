import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasEnded, logTail, spawnGuarded, stopChild } from "./guarded-child";
import { ask, redisAddress } from "./redis-address";
import { StartFault } from "./start-fault";

/** A durable Redis that only this process uses. The Redis stops when this process exits. */
export interface PrivateRedis {
  /** Value for REDIS_URL. */
  readonly url: string;
  readonly process: ChildProcess;
  /** Stops the server after it has written all data. Does nothing if the server has already stopped. */
  stop(): Promise<void>;
}

export interface PrivateRedisOptions {
  /** Command that runs the server, as returned by `findRedisServer`. */
  readonly server: string;
  /** Folder of the server's files and socket; created if it does not exist. */
  readonly folder: string;
  /** Additional arguments of the server, such as ["--maxmemory", "50mb"]. */
  readonly settings?: readonly string[];
  /** Path of the log file; by default `redis.log` in the folder. */
  readonly logFile?: string;
  /** Aborts the start. */
  readonly signal?: AbortSignal;
}

/** With these settings, Redis answers only after a write is on disk, and never evicts keys to free memory. */
const DURABLE = "--appendonly yes --appendfsync always --maxmemory-policy noeviction".split(" ");

/** Milliseconds within which Redis must be ready. Redis takes a long time to load a large append-only file. */
const READY_WITHIN_MS = 120_000;
const STOP_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 10;

/**
 * Stops the Redis of an earlier run if it is still running. Then starts a Redis with its append-only file in `folder`,
 * and resolves when the new Redis is ready. Throws StartFault when the earlier Redis does not stop or the new Redis
 * does not start.
 */
export async function startPrivateRedis({
  server,
  folder,
  settings = [],
  logFile = join(folder, "redis.log"),
  signal,
}: PrivateRedisOptions): Promise<PrivateRedis> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const address = await redisAddress(folder);
  await endLeftover(address.url);
  const command = [server, ...address.settings, "--dir", folder, "--save", "", ...DURABLE, ...settings];
  const child = spawnGuarded(command, { logFile });
  try {
    await untilReady(child, address.url, logFile, signal);
  } catch (error) {
    await stopChild(child, STOP_WITHIN_MS);
    throw error;
  }
  return { url: address.url, process: child, stop: () => stopChild(child, STOP_WITHIN_MS) };
}

/** Returns whether the folder of a private Redis has data from an earlier run. */
export function holdsData(folder: string): boolean {
  return existsSync(join(folder, "appendonlydir"));
}

/**
 * Stops the server of an earlier run, because two servers must not write to the same file. The URL was read from the
 * data folder, so it cannot be the URL of an unrelated server.
 */
async function endLeftover(url: string): Promise<void> {
  const end = performance.now() + STOP_WITHIN_MS;
  while ((await ask(url, "SHUTDOWN")) !== undefined) {
    if (performance.now() > end) throw new StartFault("The Redis of an earlier run did not stop in time.");
    await sleep(LOOK_EVERY_MS);
  }
}

async function untilReady(
  child: ChildProcess,
  url: string,
  logFile: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const end = performance.now() + READY_WITHIN_MS;
  while ((await ask(url, "PING")) !== "PONG") {
    signal?.throwIfAborted();
    const late = performance.now() > end;
    if (late || hasEnded(child)) {
      const what = late ? "was not ready in time" : "stopped during its start";
      throw new StartFault(`Redis ${what}. Its log is ${logFile}:\n${logTail(logFile)}`);
    }
    await sleep(LOOK_EVERY_MS);
  }
}
