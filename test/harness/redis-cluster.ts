import { freePort } from "./processes";
import { durableLines, startRedisNodes, WHOLE_WITHIN_MS, type RedisNode } from "./redis-node";
import { until } from "./wait";

export type TestCluster = Awaited<ReturnType<typeof startTestCluster>>;

interface TestClusterOptions {
  readonly settings?: readonly string[];
  readonly password?: string;
}

const MASTERS = 3;
const NODES = 2 * MASTERS;
const SLOTS = 16_384;
/**
 * With these settings, a failover is quick and affects only the slots of one master, and a short delay of the disk does
 * not cause a failover.
 */
const CLUSTER = [
  "cluster-enabled yes",
  "cluster-node-timeout 2000",
  "cluster-require-full-coverage no",
  "cluster-replica-validity-factor 0",
];

/** Starts a Redis Cluster of three masters, each with one replica. */
export const startTestCluster = ({ settings = [], password = "" }: TestClusterOptions = {}) =>
  startRedisNodes(async (startNode) => {
    const nodes: RedisNode[] = [];
    const buses: number[] = [];
    for (let i = 0; i < NODES; i++) {
      const bus = await freePort();
      buses.push(bus);
      const lines = [`cluster-port ${bus}`, ...CLUSTER, ...durableLines(password), ...settings];
      nodes.push(await startNode({ lines, password }));
    }
    const up = (): readonly RedisNode[] => nodes.filter((node) => node.isUp());

    /** Returns the master of a key, according to the first node that is up. */
    async function masterOf(key: string): Promise<RedisNode> {
      const [asked] = up();
      const slot = Number(await asked?.command("CLUSTER", "KEYSLOT", key));
      const ranges = (await asked?.command("CLUSTER", "SLOTS")) as [number, number, [string, number]][];
      const port = ranges.find(([from, to]) => from <= slot && slot <= to)?.[2][1];
      const found = nodes.find((node) => node.port === port);
      if (found === undefined) throw new Error(`no master has the slot of ${key}`);
      return found;
    }

    /** Returns the running replicas of a master. */
    async function replicasOf(master: RedisNode): Promise<readonly RedisNode[]> {
      const found: RedisNode[] = [];
      for (const node of up()) {
        const isReplica = (await node.info("role")) === "slave";
        if (isReplica && (await node.info("master_port")) === String(master.port)) found.push(node);
      }
      return found;
    }

    /** Returns the lines of CLUSTER NODES, one for each node. */
    const linesOf = async (node: RedisNode) =>
      String(await node.command("CLUSTER", "NODES"))
        .trim()
        .split("\n");

    /**
     * Returns whether a node reports that all slots are served and that all live nodes are healthy. A replica must also
     * be connected to its master.
     */
    async function seesAll(node: RedisNode): Promise<boolean> {
      const info = String(await node.command("CLUSTER", "INFO"));
      if (!/cluster_state:ok/.test(info) || !info.includes(`cluster_slots_ok:${SLOTS}`)) return false;
      const live = (await linesOf(node)).filter((line) => !/fail|handshake|noaddr/.test(line));
      if (live.length !== up().length) return false;
      return (await node.info("role")) === "master" || (await node.info("master_link_status")) === "up";
    }

    /**
     * Returns whether all nodes that are up know the same epoch. If the nodes know different epochs, a replica could
     * take over with an epoch that its master already has. Then the other masters would ignore the replica forever.
     */
    async function agreeOnEpoch(): Promise<boolean> {
      const infos = await Promise.all(up().map((node) => node.command("CLUSTER", "INFO").then(String)));
      return new Set(infos.map((info) => /cluster_current_epoch:\d+/.exec(info)?.[0])).size === 1;
    }

    /** Waits until `seesAll` is true for all nodes that are up, and the nodes know the same epoch. */
    async function untilWhole(): Promise<void> {
      const sees = () => Promise.all(up().map((node) => seesAll(node).catch(() => false)));
      await until(
        "the cluster is whole",
        async () => (await sees()).every(Boolean) && (await agreeOnEpoch()),
        WHOLE_WITHIN_MS,
      );
    }

    const [first, ...others] = nodes;
    for (const node of others)
      await node.command("CLUSTER", "MEET", "127.0.0.1", first?.port ?? 0, buses[0] ?? 0);
    const masters = nodes.slice(0, MASTERS);
    for (const [i, node] of masters.entries()) {
      const [from, to] = [Math.floor((i * SLOTS) / MASTERS), Math.floor(((i + 1) * SLOTS) / MASTERS) - 1];
      await node.command("CLUSTER", "ADDSLOTSRANGE", from, to);
      await node.command("CLUSTER", "SET-CONFIG-EPOCH", i + 1).catch(() => undefined);
    }
    const haveMet = async () => {
      const known = await Promise.all(nodes.map(linesOf));
      return known.every((lines) => lines.length === NODES && !/handshake/.test(lines.join()));
    };
    await until("all nodes have met", haveMet, WHOLE_WITHIN_MS);
    for (const [i, master] of masters.entries()) {
      const id = String(await master.command("CLUSTER", "MYID"));
      await nodes[MASTERS + i]?.command("CLUSTER", "REPLICATE", id);
    }
    await untilWhole();

    const names = masters.map(({ name }) => name).join(",");
    const url = `redis+cluster://${password && `:${password}@`}${names}`;
    return { url, nodes, masterOf, replicasOf, untilWhole };
  });
