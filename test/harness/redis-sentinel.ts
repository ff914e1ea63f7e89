import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./processes";
import { startRedisNode, type RedisNode } from "./redis-node";
import { until } from "./wait";

/** A master and a replica, watched by three sentinels. */
export interface TestSentinel {
  /** For REDIS_URL. */
  readonly url: string;
  readonly servers: readonly RedisNode[];
  readonly sentinels: readonly RedisNode[];
  /** The master by what the sentinels say. */
  master(): Promise<RedisNode>;
  /** Waits until all sentinels agree on the master, and the other server follows it. */
  untilWhole(withinMs?: number): Promise<void>;
  close(): Promise<void>;
}

export interface TestSentinelOptions {
  /** Of the data servers. */
  readonly settings?: readonly string[];
  readonly password?: string;
  readonly sentinelPassword?: string;
}

const NAME = "events";
const SENTINELS = 3;
/** How often sentinels look and talk, in ms: by default some of it waits for ten seconds. */
const QUICK = "info-period 500 publish-period 500 ask-period 250 ping-period 250".split(" ");
const WHOLE_WITHIN_MS = 60_000;

export async function startTestSentinel({
  settings = [],
  password,
  sentinelPassword,
}: TestSentinelOptions = {}): Promise<TestSentinel> {
  const folder = mkdtempSync(join(tmpdir(), "cb-sentinel-"));
  const servers: RedisNode[] = [];
  const sentinels: RedisNode[] = [];

  async function startServer(master?: RedisNode): Promise<RedisNode> {
    const port = await freePort();
    const own = join(folder, String(port));
    mkdirSync(own);
    // A file, as sentinels have the servers write their roles down.
    const file = join(own, "redis.conf");
    const lines = [
      `port ${port}`,
      "bind 127.0.0.1",
      `dir ${own}`,
      "appendonly yes",
      "appendfsync always",
      'save ""',
      "repl-diskless-sync-delay 0",
      ...(master === undefined ? [] : [`replicaof 127.0.0.1 ${master.port}`]),
      ...(password === undefined ? [] : [`requirepass ${password}`, `masterauth ${password}`]),
      ...settings,
    ];
    writeFileSync(file, `${lines.join("\n")}\n`);
    return startRedisNode({
      port,
      folder,
      settings: [file],
      ...(password === undefined ? {} : { password }),
    });
  }

  async function startSentinel(master: RedisNode): Promise<RedisNode> {
    const port = await freePort();
    const own = join(folder, String(port));
    mkdirSync(own);
    const file = join(own, "sentinel.conf");
    const lines = [
      `port ${port}`,
      "bind 127.0.0.1",
      `dir ${own}`,
      `sentinel monitor ${NAME} 127.0.0.1 ${master.port} 2`,
      // Above what a slow disk may hold up a server that is well.
      `sentinel down-after-milliseconds ${NAME} 2000`,
      `sentinel failover-timeout ${NAME} 6000`,
      ...(password === undefined ? [] : [`sentinel auth-pass ${NAME} ${password}`]),
      ...(sentinelPassword === undefined
        ? []
        : [`requirepass ${sentinelPassword}`, `sentinel sentinel-pass ${sentinelPassword}`]),
    ];
    writeFileSync(file, `${lines.join("\n")}\n`);
    const words = sentinelPassword === undefined ? {} : { password: sentinelPassword };
    const sentinel = await startRedisNode({ port, folder, settings: [file, "--sentinel"], ...words });
    await sentinel.command("SENTINEL", "DEBUG", ...QUICK);
    return sentinel;
  }

  async function masterBy(sentinel: RedisNode): Promise<RedisNode | undefined> {
    const [, port] = (await sentinel.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)) as string[];
    return servers.find((server) => server.port === Number(port));
  }

  async function master(): Promise<RedisNode> {
    const [first] = sentinels;
    const found = first && (await masterBy(first));
    if (found === undefined) throw new Error("the sentinels know of no master");
    return found;
  }

  async function isWhole(): Promise<boolean> {
    const named = await Promise.all(sentinels.map(masterBy));
    const [one] = named;
    if (one === undefined || named.some((each) => each !== one)) return false;
    for (const sentinel of sentinels) {
      const line = await sentinel.info("master0");
      if (!/status=ok/.test(line) || !line.includes(`slaves=${servers.length - 1}`)) return false;
      if (!line.includes(`sentinels=${SENTINELS}`)) return false;
    }
    for (const server of servers) {
      const role = await server.info("role");
      if (role !== (server === one ? "master" : "slave")) return false;
      if (server !== one && (await server.info("master_link_status")) !== "up") return false;
    }
    return true;
  }

  async function untilWhole(withinMs = WHOLE_WITHIN_MS): Promise<void> {
    await until("the sentinels and servers agree", () => isWhole().catch(() => false), withinMs);
  }

  async function close(): Promise<void> {
    await Promise.all([...sentinels, ...servers].map((node) => node.close()));
    rmSync(folder, { recursive: true, force: true });
  }

  try {
    const first = await startServer();
    servers.push(first);
    servers.push(await startServer(first));
    for (let i = 0; i < SENTINELS; i++) sentinels.push(await startSentinel(first));
    await untilWhole();
  } catch (error) {
    await close();
    throw error;
  }
  const user = password === undefined ? "" : `:${password}@`;
  const query = sentinelPassword === undefined ? "" : `?sentinel_password=${sentinelPassword}`;
  return {
    url: `redis+sentinel://${user}${sentinels.map(({ name }) => name).join(",")}/${NAME}${query}`,
    servers,
    sentinels,
    master,
    untilWhole,
    close,
  };
}
