import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@redis/client";
import { hasEnded, spawnGuarded, stopChild } from "../../deploy/local/guarded-child";
import { freePort } from "./processes";
import { redisServer } from "./redis-server";
import { HANG_MS, until } from "./wait";

/** One of several redis-server processes, on a loopback port. */
export type RedisNode = Awaited<ReturnType<typeof startRedisNode>>;

interface RedisNodeOptions {
  /** Configuration lines, in addition to the lines that every server has. */
  readonly lines: readonly string[];
  readonly password?: string;
  readonly isSentinel?: boolean;
}

/**
 * All clients are duplicates of this client: the library takes 40 ms to create a client, but almost no time to
 * duplicate one.
 */
const TEMPLATE = createClient({ RESP: 2 });

/** Maximum milliseconds that several servers need to agree on their roles. */
export const WHOLE_WITHIN_MS = 60_000;

/** Returns the configuration lines for a server that keeps events on disk, and for its replica. */
export const durableLines = (password: string): readonly string[] => [
  "appendonly yes",
  "appendfsync always",
  'save ""',
  "repl-diskless-sync-delay 0",
  password && `masterauth ${password}`,
];

/** Starts several servers in a temporary folder. If a server fails to start, stops all servers. */
export async function startRedisNodes<T>(
  start: (startNode: (options: RedisNodeOptions) => Promise<RedisNode>) => Promise<T>,
) {
  const folder = mkdtempSync(join(tmpdir(), "cb-nodes-"));
  const nodes: RedisNode[] = [];
  async function close(): Promise<void> {
    await Promise.all(nodes.map((node) => node.close()));
    rmSync(folder, { recursive: true, force: true });
  }
  try {
    const started = await start(async (options) => {
      const node = await startRedisNode(folder, options);
      nodes.push(node);
      return node;
    });
    return { ...started, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startRedisNode(folder: string, { lines, password = "", isSentinel }: RedisNodeOptions) {
  const server = redisServer();
  const port = await freePort();
  const own = join(folder, String(port));
  mkdirSync(own);
  // The server needs a configuration file, because sentinels make the server write its role to this file.
  const file = join(own, "redis.conf");
  const first = [`port ${port}`, "bind 127.0.0.1", `dir ${own}`, password && `requirepass ${password}`];
  writeFileSync(file, [...first, ...lines, ""].join("\n"));
  const args = [server, file, ...(isSentinel === true ? ["--sentinel"] : [])];
  const spawn = () => spawnGuarded(args, { logFile: `${folder}/${port}.log` });
  let child = spawn();

  async function command(...words: readonly (string | number)[]): Promise<unknown> {
    const socket = { connectTimeout: HANG_MS, socketTimeout: HANG_MS, reconnectStrategy: false as const };
    const url = `redis://${password && `:${password}@`}127.0.0.1:${port}`;
    const client = TEMPLATE.duplicate({ url, socket });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return await client.sendCommand(words.map(String));
    } finally {
      client.destroy();
    }
  }
  async function ready(): Promise<void> {
    await until(`redis-server on port ${port} is ready`, () => command("PING").then(Boolean, () => false));
  }

  await ready();
  return {
    port,
    name: `127.0.0.1:${port}`,
    isUp: () => !hasEnded(child),
    command,
    /** Returns the value of a field of INFO, or "". */
    async info(field: string): Promise<string> {
      return new RegExp(`^${field}:(.*?)\r?$`, "m").exec(String(await command("INFO")))?.[1] ?? "";
    },
    /** Kills the server, as a crash would. The server's files are kept. */
    async kill() {
      if (hasEnded(child)) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
    /** Suspends the process until `resume` is called. */
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    async start() {
      child = spawn();
      await ready();
    },
    async close() {
      child.kill("SIGCONT");
      await stopChild(child, 100);
    },
  };
}

/** Waits until a replica has all writes that the master answered before the call. */
export async function untilFollowed(master: RedisNode, replica: RedisNode | undefined): Promise<void> {
  const answered = Number(await master.info("master_repl_offset"));
  await until(
    "the replica has all answered writes",
    async () => Number(await replica?.info("slave_repl_offset")) >= answered,
  );
}

/** Waits until the replica has all writes that the master answered before the call, and then kills the master. */
export async function killFollowed(master: RedisNode, replica: RedisNode | undefined): Promise<void> {
  await untilFollowed(master, replica);
  await master.kill();
}
