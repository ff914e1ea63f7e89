import { once, setMaxListeners } from "node:events";
import { pino, type Logger } from "pino";
import type { Certificates } from "../runtime/certificates";
import { listenForProbes } from "../runtime/health-listener";
import { listening } from "../runtime/listen-fault";
import { formatBlock } from "../runtime/public-address";
import { limitConnections } from "../runtime/limit-connections";
import { LastingFault, type Running } from "../runtime/run-process";
import { isLoopback, SettingsError } from "../runtime/settings";
import { BUILD } from "../runtime/version";
import { startTracing } from "../runtime/tracing/start-tracing";
import type { CoreConfig } from "./config";
import { createCoreMetrics, type CoreMetrics } from "./metrics/core-metrics";
import { callReports, shardReports, storeReports, unreadableReports } from "./metrics/reports";
import { tidyShard, type ShardTidyContext } from "./delivery/shard-tidy";
import { watchGroups, type GroupWatchContext } from "./operations/watch-groups";
import { watchShard, type ShardWatchContext } from "./delivery/shard-watch";
import { CORES_GROUP } from "./ports/leases";
import type { Ids, NameLookup } from "./ports/outside";
import { dispatchShard, type DispatcherContext } from "./delivery/shard-dispatcher";
import { holdLeases } from "./leases/lease-holder";
import { CONTRACT_LIMITS } from "./domain/bounds";
import { createIds } from "./ids";
import { countUnreadable } from "./operations/count-unreadable";
import type { AcceptedTokens } from "./rpc/accepted-tokens";
import type { InstallationSettings } from "./rpc/installation-message";
import type { ReportFault } from "./rpc/status";
import { listenForRpc, type RpcContext } from "./rpc/server";
import { createOutside } from "./outside";
import { createRedisWatch } from "./redis-watch";
import { replyFault } from "./store/redis/fault-words";
import { createSecretBox } from "./store/secret-box";
import { watchFiles, type RenewedFiles } from "./renewed-files";
import { UnfitStore } from "./store/mark";
import { openStore, type Store } from "./store/store";
import { watchMark } from "./store-watch";

export interface Core extends Required<Running> {
  /** The port of the gRPC listener. */
  readonly port: number;
  /** The port of the listener for probes and metrics. */
  readonly healthPort: number;
  /**
   * Makes `/ready` and gRPC's health service report that core is not ready. Core continues to accept and answer calls,
   * and to push events, so pushes do not pause if no other core is running.
   */
  beginDrain(): void;
  /** Stops accepting calls, waits up to 5 seconds for the calls in progress, and closes all connections. */
  close(): Promise<void>;
}

/**
 * The limits on open gRPC connections. A connection takes about 100 KB. Each game, operator or edge uses one or two
 * connections. `share` is large enough for all connections that a TCP proxy forwards, e.g. the proxy in
 * docker-compose.yml.
 */
const CONNECTIONS = { max: 4_000, share: 1_000 } as const;

/**
 * Assembles a core and starts it. Core answers probes immediately, and gRPC calls as soon as Redis answers.
 * Rejects when `stopping` is aborted while core waits for Redis.
 *
 * @param overrides replacements for external services, for tests
 */
export async function createCore(
  config: CoreConfig,
  log: Logger = pino({ level: "silent" }),
  overrides: { readonly names?: NameLookup } = {},
  stopping: AbortSignal = new AbortController().signal,
): Promise<Core> {
  const readiness = createReadiness();
  const files = watchFiles(config, log);
  const { tokens } = files;
  const metrics = createCoreMetrics(files);
  const { notice } = metrics.memory;
  const health = await listenForProbes(config.healthListen, readiness.whyNotReady, metrics, notice);
  const tracing = await startTracing(config.tracing, log);
  const closers: (() => Promise<unknown>)[] = [
    async () => tracing?.close(),
    () => health.close(),
    async () => files.close(),
  ];
  try {
    const { store, markFault, closeStore } = await openCoreStore(config, files, metrics, log, stopping);
    closers.unshift(closeStore);

    const outside = await createOutside(config, store.now, overrides.names, files.pushContext, log);
    closers.unshift(outside.close);
    const pushClient = metrics.push.meter(outside.pushClient);
    const { operatorReceivers } = outside;
    const { onUnreadable, onCounted } = unreadableReports(metrics, log);
    const report: ReportFault = (where, error) => log.error({ where, err: error }, "unexpected error");
    const ids = createIds(store.now);
    const context = { ...store, ids, tracer: tracing?.tracer, operatorReceivers, onUnreadable, report };
    const leases = holdShards({
      ...context,
      ...shardReports(metrics, log),
      pushClient,
      mailer: outside.mailer,
      pushMeter: metrics.push,
      pushQueueMax: config.pushQueueMax,
      pushQueueMaxBytes: store.bounds.pushQueueMaxBytes,
    });
    closers.unshift(() => leases.close());
    closers.unshift(watchStore(store, config, metrics, () => leases.held, log));

    const rpc = await serveRpc(config, files.tls, metrics, {
      ...context,
      ...callReports(metrics, log),
      ...readiness,
      callCounts: metrics.callCounts,
      tokens,
      pushTracer: pushClient,
      targetUrlCheck: outside.targetUrlCheck,
      notice,
    });
    // The listener and the leases are closed in parallel, so that other cores acquire the shards without waiting for
    // this core's last calls.
    closers.unshift(() => Promise.all([rpc.close(), leases.close()]));
    readiness.begin(() => store.probe());
    log.info({ port: rpc.port, healthPort: health.port, ...BUILD }, "core is ready");
    void countUnreadable(store.secretKeys, rpc.stopping, onCounted, (error) =>
      report("count secrets", error),
    );
    let closing: Promise<void> | undefined;
    return {
      port: rpc.port,
      healthPort: health.port,
      drainMs: config.drainMs,
      failed: markFault,
      beginDrain: readiness.stop,
      close() {
        readiness.stop();
        closing ??= closeInTurn(closers);
        return closing;
      },
    };
  } catch (error) {
    await closeInTurn(closers);
    throw error;
  }
}
type Readiness =
  | { readonly is: "starting" | "stopping" }
  | { readonly is: "serving"; probe(): Promise<unknown> };

/** Tracks whether core is ready. Call `begin` when core has started, and `stop` when core begins to stop. */
function createReadiness() {
  let state: Readiness = { is: "starting" };
  return {
    begin: (probe: () => Promise<unknown>) => void (state = { is: "serving", probe }),
    stop: () => void (state = { is: "stopping" }),
    isStopping: () => state.is === "stopping",
    /** Returns why core is not ready for calls, or undefined if core is ready. */
    async whyNotReady(): Promise<string | undefined> {
      if (state.is !== "serving") return state.is === "starting" ? "waiting for Redis" : "stopping";
      try {
        await state.probe();
        return undefined;
      } catch (error) {
        if (error instanceof UnfitStore) return error.message;
        return replyFault(error) ?? "Redis does not answer";
      }
    },
  };
}

/** Opens the store, and watches its connection. Rejects when `stopping` is aborted while Redis is unavailable. */
async function openCoreStore(
  config: CoreConfig,
  { tokens, redisRoots }: RenewedFiles,
  metrics: CoreMetrics,
  log: Logger,
  stopping: AbortSignal,
): Promise<{
  readonly store: Store;
  readonly markFault: Promise<LastingFault>;
  closeStore(): Promise<void>;
}> {
  const redisWatch = createRedisWatch(log);
  const opening = openStore({
    ...config,
    ...storeReports(metrics, log),
    limits: CONTRACT_LIMITS,
    limitedGames: () => tokens.limitedGames,
    redisRoots,
    secretBox: createSecretBox(config.secretsKeys),
    onError: redisWatch.onError,
    meter: { ...metrics.store, rejected: metrics.memory.rejected },
  });
  const store = await Promise.race([opening, failOnceAborted(stopping)]).catch((error: unknown) => {
    if (!(error instanceof UnfitStore)) throw error;
    throw error.isOfSetting ? new SettingsError([error.message]) : new LastingFault(error.message);
  });
  redisWatch.begin(() => store.probe());
  const markWatch = watchMark(store.checkMark);
  return {
    store,
    markFault: markWatch.failed,
    async closeStore() {
      markWatch.stop();
      redisWatch.stop();
      await store.close();
    },
  };
}

type ShardContext = DispatcherContext & ShardWatchContext & ShardTidyContext & GroupWatchContext;

/**
 * Shares the shards with the other cores. While this core holds a shard's lease, core pushes the shard's events and
 * watches the shard.
 */
function holdShards(context: ShardContext & Pick<Store, "leases"> & { readonly ids: Ids }) {
  const { leases, ids, report } = context;
  return holdLeases({
    leases,
    member: { group: CORES_GROUP, name: ids.token(), token: ids.token() },
    async work(lease) {
      await Promise.all([
        dispatchShard(context, lease),
        watchShard(context, lease),
        tidyShard(context, lease),
        watchGroups(context, lease),
      ]);
    },
    onFault: (error) => report("leases", error),
  });
}

/** Starts to read the store's metrics. Returns a function that stops watching the store's memory. */
function watchStore(
  store: Store,
  { shards }: CoreConfig,
  metrics: CoreMetrics,
  heldShards: () => readonly number[],
  log: Logger,
): () => Promise<void> {
  const over = new AbortController();
  metrics.store.begin(store.now);
  void metrics.memory.watch(store.readMemory, log, over.signal);
  void metrics.durability.watch(store.durability, over.signal);
  metrics.backlog.begin({ ...store, shards, heldShards });
  metrics.workspaces.begin({ ...store, heldShards });
  return async () => over.abort();
}

/** Returns the facts about core's settings that operators may see: see `GetInstallation`. */
function installationSettings(config: CoreConfig): InstallationSettings {
  const { listen, tls, mail, pushAllow, redisWaitReplicas } = config;
  return {
    ...BUILD,
    waitReplicas: redisWaitReplicas,
    pushAllow: pushAllow.map(formatBlock),
    listensBeyondLoopback: !isLoopback(listen.host),
    usesTls: tls !== undefined,
    sendsMail: mail !== undefined,
  };
}

type ServedContext = Omit<
  RpcContext,
  "stopping" | "tokens" | "addressProbes" | "settings" | "coresGroup" | "unreadableSecrets"
> & {
  readonly report: ReportFault;
  readonly tokens: AcceptedTokens;
};

async function serveRpc(
  config: CoreConfig,
  tls: Certificates | undefined,
  metrics: CoreMetrics,
  context: ServedContext,
) {
  const { listen } = config;
  const streams = new AbortController();
  // Every stream adds a listener to this signal, so core turns off Node's warning about many listeners.
  setMaxListeners(0, streams.signal);
  const starting = listenForRpc(
    {
      ...context,
      stopping: streams.signal,
      coresGroup: CORES_GROUP,
      settings: installationSettings(config),
      unreadableSecrets: () => metrics.counts.unreadableSecrets,
    },
    {
      at: listen,
      tokens: context.tokens,
      tls,
      limitConnections: (listener) => void limitConnections(listener, CONNECTIONS),
      report: context.report,
    },
  );
  const { port, close } = await listening("CORE_LISTEN", starting);
  return {
    port,
    stopping: streams.signal,
    async close(): Promise<void> {
      // The listener is closed first, so that clients that reopen their streams reach another core.
      const closed = close();
      streams.abort();
      await closed;
    },
  };
}

async function closeInTurn(closers: readonly (() => Promise<unknown>)[]): Promise<void> {
  for (const close of closers) await close();
}

async function failOnceAborted(signal: AbortSignal): Promise<never> {
  await once(signal, "abort");
  throw new Error("core was stopped while it was starting");
}
