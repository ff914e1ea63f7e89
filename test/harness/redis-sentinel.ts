import { durableLines, startRedisNodes, WHOLE_WITHIN_MS, type RedisNode } from "./redis-node";
import { until } from "./wait";

export type TestSentinel = Awaited<ReturnType<typeof startTestSentinel>>;

interface TestSentinelOptions {
  /** Configuration lines of the data servers. */
  readonly settings?: readonly string[];
  readonly password?: string;
  readonly sentinelPassword?: string;
}

const NAME = "events";
const SENTINELS = 3;
/** Milliseconds between the checks and messages of sentinels. By default, sentinels wait up to 10 seconds. */
const QUICK = "info-period 500 publish-period 500 ask-period 250 ping-period 250".split(" ");

/** Starts a master and a replica that three sentinels monitor. */
export const startTestSentinel = ({
  settings = [],
  password = "",
  sentinelPassword = "",
}: TestSentinelOptions = {}) =>
  startRedisNodes(async (startNode) => {
    const startServer = (...more: readonly string[]) =>
      startNode({ lines: [...durableLines(password), ...more, ...settings], password });
    const first = await startServer();
    const servers = [first, await startServer(`replicaof 127.0.0.1 ${first.port}`)];

    async function startSentinel(): Promise<RedisNode> {
      const lines = [
        `sentinel monitor ${NAME} 127.0.0.1 ${first.port} 2`,
        // This time is longer than a slow disk can block a healthy server.
        `sentinel down-after-milliseconds ${NAME} 2000`,
        `sentinel failover-timeout ${NAME} 6000`,
        password && `sentinel auth-pass ${NAME} ${password}`,
        sentinelPassword && `sentinel sentinel-pass ${sentinelPassword}`,
      ];
      const sentinel = await startNode({ lines, password: sentinelPassword, isSentinel: true });
      await sentinel.command("SENTINEL", "DEBUG", ...QUICK);
      return sentinel;
    }
    const sentinels: RedisNode[] = [];
    for (let i = 0; i < SENTINELS; i++) sentinels.push(await startSentinel());

    async function masterBy(sentinel: RedisNode): Promise<RedisNode | undefined> {
      const [, port] = (await sentinel.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)) as string[];
      return servers.find((server) => server.port === Number(port));
    }

    /** Returns the master according to the first sentinel. */
    async function master(): Promise<RedisNode> {
      const [first] = sentinels;
      const found = first && (await masterBy(first));
      if (found === undefined)
        throw new Error("the first sentinel does not name a server of this test as the master");
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

    /** Waits until all sentinels agree on the master, and the other server is a connected replica. */
    const untilWhole = () =>
      until("all sentinels agree", () => isWhole().catch(() => false), WHOLE_WITHIN_MS);

    await untilWhole();
    const names = sentinels.map(({ name }) => name).join(",");
    const query = sentinelPassword && `?sentinel_password=${sentinelPassword}`;
    const url = `redis+sentinel://${password && `:${password}@`}${names}/${NAME}${query}`;
    return { url, servers, sentinels, master, untilWhole };
  });
