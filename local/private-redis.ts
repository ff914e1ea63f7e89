import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";

/** A Redis of our own: durable, and reached only through a socket in its folder. */
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
}

/** A socket's path may be no longer on any system. */
const SOCKET_PATH_MAX = 100;
const READY_WITHIN_MS = 10_000;

/** Starts a Redis with its append-only file in `folder`, every write on disk before it is answered. */
export async function startPrivateRedis({
  server,
  folder,
  settings = [],
}: PrivateRedisOptions): Promise<PrivateRedis> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const socket = join(folder, "redis.sock");
  if (socket.length > SOCKET_PATH_MAX)
    throw new Error(`the path ${socket} is too long for a socket: use a shorter folder`);
  const child = spawn(
    server,
    [
      ...["--port", "0", "--unixsocket", socket, "--unixsocketperm", "700"],
      ...["--dir", folder, "--appendonly", "yes", "--appendfsync", "always", "--save", ""],
      ...["--maxmemory-policy", "noeviction", "--daemonize", "no"],
      ...settings,
    ],
    // In a group of its own, so that Ctrl-C in a terminal stops it last, by us.
    { stdio: ["ignore", "pipe", "inherit"], detached: true },
  );
  await untilReady(child);
  return {
    url: `unix://${socket}`,
    pid: child.pid ?? 0,
    process: child,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
}

/** Whether the folder of a private Redis holds anything from before. */
export function holdsData(folder: string): boolean {
  return existsSync(join(folder, "appendonlydir"));
}

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = "";
    const fail = (why: string): void => {
      clearTimeout(timer);
      child.kill("SIGKILL");
      reject(new Error(`Redis did not start: ${why}\n${said}`));
    };
    const timer = setTimeout(() => fail("it was not ready in time"), READY_WITHIN_MS);
    child.once("error", (error) => fail(error.message));
    child.once("exit", () => fail("it ended"));
    child.stdout?.on("data", function listen(chunk: Buffer) {
      said = (said + chunk.toString()).slice(-4_000);
      if (!/ready to accept connections/i.test(said)) return;
      clearTimeout(timer);
      child.removeAllListeners("exit");
      child.stdout?.off("data", listen);
      child.stdout?.resume();
      resolve();
    });
  });
}
