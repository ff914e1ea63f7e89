import { mkdirSync } from "node:fs";
import { startChild, untilReady, type Child } from "../local/children";
import { freePort } from "../local/listen-addresses";
import { startPrivateRedis } from "../local/private-redis";
import { findRedisServer } from "../local/redis-server";
import type { CertificateFile } from "./certificate";
import type { Pids } from "./cpu";
import { connectToCore, TOKENS, type CoreClients } from "./core-clients";
import type { PartContext } from "./part";
import { connectToStore, type Store } from "./store";

/** The service of a part: its own core, edge and Redis, as shipped. */
export interface Service {
  readonly store: Store;
  readonly coreAddress: string;
  readonly core: Child;
  readonly edge: Child;
  readonly clients: CoreClients;
  /** Base URL of the edge: http://127.0.0.1:port. */
  readonly url: string;
  /** The value for `REDIS_URL`. */
  readonly redisUrl: string;
  /** The processes of core, the edge and Redis. */
  readonly pids: Readonly<Record<"core" | "edge" | "redis", number>> & Pids;
}

const LOOPBACK = "127.0.0.1";
const SECRETS_KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/** Returns core's settings for pushes to a receiver on loopback with this certificate. */
export function pushesTo({ certPath }: CertificateFile): NodeJS.ProcessEnv {
  return { PUSH_ALLOW: "127.0.0.0/8", PUSH_CA: certPath };
}

export async function startService(
  context: PartContext,
  coreEnvironment: NodeJS.ProcessEnv = {},
): Promise<Service> {
  const { scope, say } = context;
  const server = await findRedisServer(say, scope.signal);
  const logFile = scope.logFile("redis");
  const folder = logFile.replace(/\.log$/, "");
  const redis = await scope.own(
    startPrivateRedis({ server, folder, logFile, signal: scope.signal }),
    ({ stop }) => stop(),
  );
  const store = await scope.own(connectToStore(redis.url), ({ close }) => close());
  await store.assertDurable();

  const [coreAddress, coreHealth] = [await freeAddress(), await freeAddress()];
  const core = await startProcess(context, "core", coreHealth, {
    REDIS_URL: redis.url,
    CORE_LISTEN: coreAddress,
    CORE_TOKENS: Object.entries(TOKENS)
      .map(([role, token]) => `${role}=${token}`)
      .join(","),
    SECRETS_KEY,
    // The log must not be trimmed, because its entries are counted afterwards.
    INBOUND_LOG_MAX: "100000000",
    INBOUND_LOG_MAX_BYTES: "1099511627776",
    ...coreEnvironment,
  });

  const [edgeAddress, edgeHealth] = [await freeAddress(), await freeAddress()];
  const edge = await startProcess(context, "edge", edgeHealth, {
    EDGE_LISTEN: edgeAddress,
    CORE_ADDRESS: coreAddress,
    CORE_TOKEN: TOKENS.edge,
    // Lets the load come from many addresses, each below its limit.
    TRUST_PROXY: LOOPBACK,
  });
  const pids = { core: pidOf(core), edge: pidOf(edge), redis: await store.processId() };
  const clients = await scope.own(Promise.resolve(connectToCore(coreAddress)), (each) => each.close());
  return {
    store,
    coreAddress,
    core,
    edge,
    clients,
    url: `http://${edgeAddress}`,
    redisUrl: redis.url,
    pids,
  };
}

async function startProcess(
  { scope, options }: PartContext,
  name: "core" | "edge",
  health: string,
  environment: NodeJS.ProcessEnv,
): Promise<Child> {
  const logFile = scope.logFile(name);
  if (options.profile !== undefined) mkdirSync(options.profile, { recursive: true });
  const profile =
    options.profile === undefined
      ? []
      : [
          "--cpu-prof",
          "--cpu-prof-dir",
          options.profile,
          "--cpu-prof-name",
          `${name}-${Date.now()}.cpuprofile`,
        ];
  const env = { PATH: process.env["PATH"], LOG_LEVEL: "warn", HEALTH_LISTEN: health, ...environment };
  const child = startChild(name, env, logFile, profile);
  await scope.own(Promise.resolve(child), ({ stop }) => stop());
  await untilReady(child, health, scope.signal);
  return child;
}

function pidOf({ name, process: { pid } }: Child): number {
  if (pid === undefined) throw new Error(`${name} has no process`);
  return pid;
}

/** Returns a free loopback address. */
async function freeAddress(): Promise<string> {
  return `${LOOPBACK}:${await freePort(LOOPBACK)}`;
}
