import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { makeCertificate } from "../deploy/local/certificate";
import {
  NODE_FLAGS,
  startChild,
  startCommand,
  untilReady,
  whyNotHealthy,
  type Child,
} from "../deploy/local/children";
import { freePort } from "../deploy/local/listen-addresses";
import { startPrivateRedis } from "../deploy/local/private-redis";
import { findRedisServer } from "../deploy/local/redis-server";
import { StartFault } from "../deploy/local/start-fault";
import { connectToCore, createWorkspaces, TOKENS } from "./core-clients";
import type { Certificate } from "./load/receive-pushes";
import type { PartContext } from "./part";
import { profileFlags } from "./profile-flags";
import { connectToStore } from "./store";
import { LOAD_FLAGS, startWorker } from "./worker";
import type { LatencyLoad } from "./workers/latency-load";

/** The service that a part measures: core and the edge as shipped, with their own Redis. */
export type Service = Awaited<ReturnType<typeof startService>>;

const LOOPBACK = "127.0.0.1";
const SECRETS_KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/** Settings of core and of the edge that differ between parts. */
interface Settings {
  readonly core?: NodeJS.ProcessEnv;
  readonly edge?: NodeJS.ProcessEnv;
  /**
   * Returns additional tokens for `CORE_TOKENS`. While this function runs, a temporary core listens at `coreAddress`.
   * So the function can create workspaces, and return tokens that are limited to these workspaces.
   */
  readonly tokens?: (coreAddress: string) => Promise<string>;
}

/** @param build the folder of another checkout whose service is started; by default, this checkout's service */
export async function startService(context: PartContext, settings: Settings = {}, build?: string) {
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

  const coreAddress = await freeAddress();
  const roleTokens = Object.entries(TOKENS).map(([role, token]) => `${role}=${token}`);
  const startCore = (moreTokens: readonly string[]) =>
    startProcess(context, build, "core", {
      REDIS_URL: redis.url,
      CORE_LISTEN: coreAddress,
      CORE_TOKENS: [...roleTokens, ...moreTokens].join(","),
      SECRETS_KEY,
      // The inbound log must not be trimmed, because its entries are counted afterwards.
      INBOUND_LOG_MAX: "100000000",
      INBOUND_LOG_MAX_BYTES: "1099511627776",
      ...settings.core,
    });
  const moreTokens: string[] = [];
  if (settings.tokens !== undefined) {
    const first = await startCore([]);
    moreTokens.push(await settings.tokens(coreAddress));
    await first.stop();
  }
  const core = await startCore(moreTokens);
  const edgeAddress = await freeAddress();
  const edge = await startProcess(context, build, "edge", {
    EDGE_LISTEN: edgeAddress,
    CORE_ADDRESS: coreAddress,
    CORE_TOKEN: TOKENS.edge,
    // With this setting, the load can come from many simulated addresses, each below its limit.
    TRUST_PROXY: LOOPBACK,
    ...settings.edge,
  });
  return {
    store,
    coreAddress,
    clients: await scope.own(connectToCore(coreAddress), ({ close }) => close()),
    /** Base URL of the edge. */
    url: `http://${edgeAddress}`,
    redisUrl: redis.url,
    /** The process ids of core, the edge and Redis. */
    pids: { core: pidOf(core), edge: pidOf(edge), redis: await store.processId() },
  };
}

/** Starts a service that can push to loopback, and makes a certificate for a receiver of pushes on loopback. */
export async function startPushService(context: PartContext, settings: Settings = {}, build?: string) {
  // Each service gets its own certificate, because core would reread the file if another service changed it.
  const files = await makeCertificate(mkdtempSync(join(context.scope.folder, "tls-")), LOOPBACK);
  if (files === undefined)
    throw new StartFault("cannot make a certificate: openssl is not installed or fails");
  const pushes = { PUSH_ALLOW: "127.0.0.0/8", PUSH_CA: files.certPath };
  const service = await startService(context, { ...settings, core: { ...pushes, ...settings.core } }, build);
  const [key, cert] = [readFileSync(files.keyPath, "utf8"), readFileSync(files.certPath, "utf8")];
  return { service, certificate: { key, cert } satisfies Certificate };
}

/**
 * Starts a service that can push to loopback, and a worker that sends load to the service at fixed rates and receives
 * the service's pushes.
 */
export async function startLoadedService(context: PartContext, coreEnvironment: NodeJS.ProcessEnv = {}) {
  const { service, certificate } = await startPushService(context, { core: coreEnvironment });
  const { clients, coreAddress } = service;
  const load = await startWorker<LatencyLoad>(context.scope, "latency-load", LOAD_FLAGS);
  const { port, deadPort } = await load.call("start", { ...certificate, coreAddress });
  const pushUrl = `https://${LOOPBACK}:${port}/events`;
  return {
    ...service,
    load,
    pushUrl,
    deadUrl: `https://${LOOPBACK}:${deadPort}/`,
    slowUrl: `https://${LOOPBACK}:${port}/slow`,
    createPushed: (count: number) => createWorkspaces(clients, count, pushUrl),
  };
}

async function startProcess(
  { scope, options: { profile } }: PartContext,
  build: string | undefined,
  name: "core" | "edge",
  environment: NodeJS.ProcessEnv,
): Promise<Child> {
  const health = await freeAddress();
  const profiling = profileFlags(profile, build === undefined ? name : `against-${name}`);
  // OpenTelemetry's variables are passed to the process, so that the cost of traces can be measured.
  const tracing = Object.entries(process.env).filter(([name]) => name.startsWith("OTEL_"));
  const env = {
    PATH: process.env["PATH"],
    LOG_LEVEL: "warn",
    HEALTH_LISTEN: health,
    ...Object.fromEntries(tracing),
    ...environment,
  };
  const logFile = scope.logFile(name);
  const child =
    build === undefined
      ? startChild(name, env, logFile, profiling)
      : startCommand(
          name,
          [process.execPath, ...NODE_FLAGS, ...profiling, mainOf(build, name)],
          env,
          logFile,
        );
  await scope.own(child, ({ stop }) => stop());
  await untilReady(child, () => whyNotHealthy(`http://${health}/ready`), scope.signal);
  return child;
}

function mainOf(build: string, name: "core" | "edge"): string {
  const path = join(resolve(build), "dist", name, "main.js");
  if (!existsSync(path)) throw new StartFault(`${path} does not exist: run npm run build in ${build}`);
  return path;
}

function pidOf({ name, process: { pid } }: Child): number {
  if (pid === undefined) throw new Error(`${name} has no process`);
  return pid;
}

export async function freeAddress(): Promise<string> {
  return `${LOOPBACK}:${await freePort(LOOPBACK)}`;
}
