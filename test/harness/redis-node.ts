import { once } from "node:events";
import { createClient } from "redis";
import { hasEnded, spawnGuarded, stopChild } from "../../local/guarded-child";
import { findRedisServer } from "../../local/redis-server";
import { HANG_MS, until } from "./wait";

/** One redis-server of several, on a port of loopback. */
export interface RedisNode {
  readonly port: number;
  /** host:port */
  readonly name: string;
  readonly isUp: boolean;
  command(...args: readonly (string | number)[]): Promise<unknown>;
  /** The value of a line of INFO. */
  info(field: string): Promise<string>;
  /** Ends it at once, as a crash would; its files stay. */
  kill(): Promise<void>;
  /** Stops it in its tracks, and lets it go on. */
  pause(): void;
  resume(): void;
  start(): Promise<void>;
  close(): Promise<void>;
}

export interface RedisNodeOptions {
  readonly port: number;
  readonly folder: string;
  /** As arguments; the first may be a file. */
  readonly settings: readonly string[];
  /** For commands of the test, where the server wants one. */
  readonly password?: string;
}

/** Starts one. It does not outlive this process. */
export async function startRedisNode({
  port,
  folder,
  settings,
  password,
}: RedisNodeOptions): Promise<RedisNode> {
  const server = await findRedisServer((line) => process.stderr.write(`${line}\n`));
  const url = `redis://${password === undefined ? "" : `:${password}@`}127.0.0.1:${port}`;
  const spawn = () => spawnGuarded([server, ...settings], { logFile: `${folder}/${port}.log` });
  let child = spawn();

  async function command(...args: readonly (string | number)[]): Promise<unknown> {
    const socket = { connectTimeout: HANG_MS, socketTimeout: HANG_MS, reconnectStrategy: false as const };
    const client = createClient({ url, socket, RESP: 2 });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return await client.sendCommand(args.map(String));
    } finally {
      client.destroy();
    }
  }
  async function ready(): Promise<void> {
    await until(`redis-server on port ${port} is ready`, () => command("PING").then(Boolean, () => false));
  }
  async function kill(): Promise<void> {
    if (hasEnded(child)) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  await ready();
  return {
    port,
    name: `127.0.0.1:${port}`,
    get isUp() {
      return !hasEnded(child);
    },
    command,
    async info(field) {
      const text = String(await command("INFO"));
      return new RegExp(`^${field}:(.*?)\r?$`, "m").exec(text)?.[1] ?? "";
    },
    kill,
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

/** Waits until a replica has everything that its master answered before the call, however slow the two are. */
export async function untilFollowed(master: RedisNode, replica: RedisNode | undefined): Promise<void> {
  const answered = Number(await master.info("master_repl_offset"));
  await until(
    "the replica has what was answered",
    async () => Number(await replica?.info("slave_repl_offset")) >= answered,
  );
}

/** Kills a master once its replica has everything that was answered before the call. */
export async function killFollowed(master: RedisNode, replica: RedisNode | undefined): Promise<void> {
  await untilFollowed(master, replica);
  await master.kill();
}
