import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./processes";
import { startRedisNode, type RedisNode } from "./redis-node";
import { until } from "./wait";

/** A Redis Cluster of three masters with a replica each. */
export interface TestCluster {
  /** For REDIS_URL. */
  readonly url: string;
  readonly nodes: readonly RedisNode[];
  /** The master that has a key, by what the others say. */
  masterOf(key: string): Promise<RedisNode>;
  /** The replicas of a master. */
  replicasOf(master: RedisNode): Promise<readonly RedisNode[]>;
  /** Waits until every slot has a master, every master a replica that is up to date, and all know. */
  untilWhole(withinMs?: number): Promise<void>;
  close(): Promise<void>;
}

export interface TestClusterOptions {
  readonly settings?: readonly string[];
  readonly password?: string;
}

const MASTERS = 3;
const NODES = 2 * MASTERS;
const SLOTS = 16_384;
const WHOLE_WITHIN_MS = 60_000;
/** An outage is short, and no other master's; a server whose disk is slow for a while is not yet given up. */
const CLUSTER =
  "--cluster-enabled yes --cluster-node-timeout 2000 --cluster-require-full-coverage no --cluster-replica-validity-factor 0";
const DURABLE = "--appendonly yes --appendfsync always --repl-diskless-sync-delay 0";

export async function startTestCluster({
  settings = [],
  password,
}: TestClusterOptions = {}): Promise<TestCluster> {
  const folder = mkdtempSync(join(tmpdir(), "cb-cluster-"));
  const nodes: RedisNode[] = [];
  const buses = new Map<RedisNode, number>();

  async function startNode(): Promise<RedisNode> {
    const [port, bus] = [await freePort(), await freePort()];
    const own = join(folder, String(port));
    mkdirSync(own);
    const node = await startRedisNode({
      port,
      folder,
      ...(password === undefined ? {} : { password }),
      settings: [
        ...`--port ${port} --cluster-port ${bus} --bind 127.0.0.1 ${CLUSTER} ${DURABLE}`.split(" "),
        "--dir",
        own,
        "--save",
        "",
        ...(password === undefined ? [] : ["--requirepass", password, "--masterauth", password]),
        ...settings,
      ],
    });
    buses.set(node, bus);
    return node;
  }

  const idOf = async (node: RedisNode): Promise<string> => String(await node.command("CLUSTER", "MYID"));
  const up = (): readonly RedisNode[] => nodes.filter((node) => node.isUp);

  async function masterOf(key: string): Promise<RedisNode> {
    const [asked] = up();
    const slot = Number(await asked?.command("CLUSTER", "KEYSLOT", key));
    const ranges = (await asked?.command("CLUSTER", "SLOTS")) as [number, number, [string, number]][];
    const port = ranges.find(([from, to]) => from <= slot && slot <= to)?.[2][1];
    const found = nodes.find((node) => node.port === port);
    if (found === undefined) throw new Error(`nobody has the slot of ${key}`);
    return found;
  }

  async function replicasOf(master: RedisNode): Promise<readonly RedisNode[]> {
    const found: RedisNode[] = [];
    for (const node of up()) {
      if ((await node.info("role")) === "slave" && (await node.info("master_port")) === String(master.port))
        found.push(node);
    }
    return found;
  }

  /** Whether a node sees all slots served, by masters and replicas that are all well. */
  async function seesAll(node: RedisNode): Promise<boolean> {
    const info = String(await node.command("CLUSTER", "INFO"));
    if (!/cluster_state:ok/.test(info) || !info.includes(`cluster_slots_ok:${SLOTS}`)) return false;
    const lines = String(await node.command("CLUSTER", "NODES"))
      .trim()
      .split("\n");
    const live = lines.filter((line) => !/fail|handshake|noaddr/.test(line));
    if (live.length !== up().length) return false;
    return (await node.info("role")) === "master" || (await node.info("master_link_status")) === "up";
  }

  async function untilWhole(withinMs = WHOLE_WITHIN_MS): Promise<void> {
    await until(
      "the cluster is whole",
      async () => {
        const seen = await Promise.all(up().map((node) => seesAll(node).catch(() => false)));
        return seen.every(Boolean);
      },
      withinMs,
    );
  }

  async function close(): Promise<void> {
    await Promise.all(nodes.map((node) => node.close()));
    rmSync(folder, { recursive: true, force: true });
  }

  try {
    for (let i = 0; i < NODES; i++) nodes.push(await startNode());
    const [first, ...others] = nodes;
    if (first === undefined) throw new Error("no node was started");
    for (const node of others)
      await node.command("CLUSTER", "MEET", "127.0.0.1", first.port, buses.get(first) ?? 0);
    const masters = nodes.slice(0, MASTERS);
    for (const [i, node] of masters.entries()) {
      const [from, to] = [Math.floor((i * SLOTS) / MASTERS), Math.floor(((i + 1) * SLOTS) / MASTERS) - 1];
      await node.command("CLUSTER", "ADDSLOTSRANGE", from, to);
      await node.command("CLUSTER", "SET-CONFIG-EPOCH", i + 1).catch(() => undefined);
    }
    await until(
      "all have met",
      async () => {
        const known = await Promise.all(nodes.map((node) => node.command("CLUSTER", "NODES")));
        return known.every(
          (text) => !/handshake/.test(String(text)) && String(text).trim().split("\n").length === NODES,
        );
      },
      WHOLE_WITHIN_MS,
    );
    for (const [i, node] of nodes.slice(MASTERS).entries()) {
      const master = masters[i];
      if (master !== undefined) await node.command("CLUSTER", "REPLICATE", await idOf(master));
    }
    await untilWhole();
  } catch (error) {
    await close();
    throw error;
  }

  const user = password === undefined ? "" : `:${password}@`;
  return {
    url: `redis+cluster://${user}${nodes
      .slice(0, MASTERS)
      .map(({ name }) => name)
      .join(",")}`,
    nodes,
    masterOf,
    replicasOf,
    untilWhole,
    close,
  };
}
