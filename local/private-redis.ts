import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasEnded, logTail, spawnGuarded, stopChild } from "./guarded-child";
import { ask, redisAddress, type RedisAddress } from "./redis-address";
import { StartFault } from "./start-fault";

/** A Redis of our own: durable, reached by nobody else, and gone when this process is. */
export interface PrivateRedis {
  /** For REDIS_URL. */
  readonly url: string;
  readonly pid: number;
  readonly process: ChildProcess;
  /** Stops it with everything written; harmless when it has stopped. */
  stop(): Promise<void>;
}

export interface PrivateRedisOptions {
  /** The command of the server, as findRedisServer found it. */
  readonly server: string;
  /** Where its files and its socket are; made when it is not there. */
  readonly folder: string;
  /** Further settings, such as ["--maxmemory", "50mb"]. */
  readonly settings?: readonly string[];
  /** Where it logs; a file in its folder unless told. */
  readonly logFile?: string;
  /** Gives the start up. */
  readonly signal?: AbortSignal;
}

/** Every write is on disk before it is answered, and nothing is ever thrown away to make room. */
const DURABLE = "--appendonly yes --appendfsync always --maxmemory-policy noeviction --daemonize no".split(
  " ",
);

/** Reading a large append-only file takes its time. */
const READY_WITHIN_MS = 120_000;
const STOP_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 10;

/** Starts a Redis with its append-only file in `folder`, every write on disk before it is answered. */
export async function startPrivateRedis({
  server,
  folder,
  settings = [],
  logFile = join(folder, "redis.log"),
  signal,
}: PrivateRedisOptions): Promise<PrivateRedis> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const address = await redisAddress(folder);
  await endLeftover(address);
  const command = [server, ...address.settings, "--dir", folder, "--save", "", ...DURABLE, ...settings];
  const child = spawnGuarded(command, { logFile });
  try {
    await untilReady(child, address, logFile, signal);
  } catch (error) {
    await stopChild(child, STOP_WITHIN_MS);
    throw error;
  }
  return {
    url: address.url,
    pid: child.pid ?? 0,
    process: child,
    stop: () => stopChild(child, STOP_WITHIN_MS),
  };
}

/** Whether the folder of a private Redis holds anything from before. */
export function holdsData(folder: string): boolean {
  return existsSync(join(folder, "appendonlydir"));
}

/**
 * A server that still answers where only the folder's own can is one that was
 * left behind, and two of them must not write one file.
 */
async function endLeftover(address: RedisAddress): Promise<void> {
  const end = performance.now() + STOP_WITHIN_MS;
  while ((await ask(address, "SHUTDOWN")) !== undefined) {
    if (performance.now() > end) throw new StartFault("The Redis of an earlier run does not stop.");
    await sleep(LOOK_EVERY_MS);
  }
}

async function untilReady(
  child: ChildProcess,
  address: RedisAddress,
  logFile: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const end = performance.now() + READY_WITHIN_MS;
  while ((await ask(address, "PING")) !== "+PONG") {
    signal?.throwIfAborted();
    const late = performance.now() > end;
    if (late || hasEnded(child)) {
      const what = late ? "was not ready in time" : "ended while it started";
      throw new StartFault(`Redis ${what}. Its log is ${logFile}:\n${logTail(logFile)}`);
    }
    await sleep(LOOK_EVERY_MS);
  }
}
