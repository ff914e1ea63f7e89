import { once, setMaxListeners } from "node:events";
import { createSecureContext, rootCertificates } from "node:tls";
import { pino, type Logger } from "pino";
import { listenForProbes } from "../runtime/health-listener";
import { listening } from "../runtime/listen-fault";
import { limitConnections } from "../runtime/limit-connections";
import { SettingsError } from "../runtime/settings";
import { BUILD } from "../runtime/version";
import { startTracing } from "../runtime/tracing/start-tracing";
import type { CoreConfig } from "./config";
import { createCoreMetrics } from "./metrics/core-metrics";
import { operatorEventReports } from "./metrics/operator-event-reports";
import { unreadableReports } from "./metrics/unreadable-reports";
import { createPushClient } from "./delivery/push-client";
import { createSmtpMailer } from "./delivery/smtp-mailer";
import { createOperatorReceivers } from "./delivery/operator-receivers";
import { tidyShard } from "./delivery/shard-tidy";
import { watchGroups } from "./operations/watch-groups";
import { watchShard } from "./delivery/shard-watch";
import type { InboundDropped } from "./ports/inbound-log";
import type { QueuedPush } from "./ports/push-queue";
import type { Mailer, NameLookup } from "./ports/outside";
import { dispatchShard } from "./delivery/shard-dispatcher";
import { holdLeases } from "./leases/lease-holder";
import { createNameLookup } from "./delivery/system-names";
import { createTargetUrlCheck } from "./delivery/public-host";
import { CONTRACT_LIMITS } from "./domain/bounds";
import type { DropReason } from "../contract/deliveries";
import { createIds } from "./ids";
import { countUnreadable } from "./operations/count-unreadable";
import { limitedGames } from "./rpc/known-tokens";
import type { ReportFault } from "./rpc/status";
import { listenForRpc } from "./rpc/server";
import { createRedisWatch } from "./redis-watch";
import { replyFault } from "./store/redis/fault-words";
import { createSecretBox } from "./store/secret-box";
import { openStore, WrongShards } from "./store/store";

export interface Core {
  /** The port of the gRPC listener. */
  readonly port: number;
  /** The port of the listener for probes and metrics. */
  readonly healthPort: number;
  /** The milliseconds between `beginDrain` and `close`, for `runProcess`. */
  readonly drainMs: number;
  /**
   * Makes `/ready` and gRPC's health service fail. Core continues to accept and answer calls, and to push events. So
   * pushes do not pause if no other core is running.
   */
  beginDrain(): void;
  /** Stops accepting calls, waits up to 5 seconds for the calls in progress, and closes all connections. */
  close(): Promise<void>;
}

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
  let isStopping = false;
  let whyNotReady: () => Promise<string | undefined> = async () => "waiting for Redis";
  const metrics = createCoreMetrics();
  const health = await listenForProbes(
    config.healthListen,
    () => whyNotReady(),
    metrics,
    () => metrics.memory.notice(),
  );
  const tracing = await startTracing(config.tracing, log);
  const tracer = tracing?.tracer;
  const redisWatch = createRedisWatch(log);
  const closers: (() => Promise<void>)[] = [async () => tracing?.close(), () => health.close()];
  const tellInboundDropped = inboundDropTeller(log);
  function onDrop(
    { workspaceId, eventId, eventType }: Pick<QueuedPush, "workspaceId" | "eventId" | "eventType">,
    reason: DropReason | "failed",
  ): void {
    metrics.push.countDrop(reason);
    log.warn({ workspaceId, eventId, eventType, reason }, "a push was dropped");
  }
  try {
    const store = await Promise.race([
      openStore({
        ...config,
        limits: CONTRACT_LIMITS,
        limitedGames: limitedGames(config.tokens),
        secretBox: createSecretBox(config.secretsKeys),
        onError: redisWatch.onError,
        meter: { ...metrics.store, rejected: metrics.memory.rejected },
        onDropped(dropped) {
          metrics.counts.inboundDropped[dropped.reason] += dropped.count;
          tellInboundDropped(dropped);
        },
        onOverloaded: ({ workspaceId, eventId, type }) =>
          onDrop({ workspaceId, eventId, eventType: type }, "overloaded"),
        onOverbooking: (advice) => log.warn({}, advice),
        onAdvice: ({ level, server, advice }) => log[level]({ server }, `Redis may lose data: ${advice}`),
      }),
      failOnceAborted(stopping),
    ]).catch((error: unknown) => {
      throw error instanceof WrongShards ? new SettingsError([error.message]) : error;
    });
    closers.unshift(async () => {
      redisWatch.stop();
      await store.close();
    });
    redisWatch.begin(() => store.probe());

    const report: ReportFault = (where, error) => log.error({ where, err: error }, "unexpected error");
    const ids = createIds(store.now);
    // Each client has separate lookups, so that one of them cannot take all places of the others.
    const createHosts = () => ({
      names: overrides.names ?? createNameLookup({ servers: config.dnsServers }),
      allow: config.pushAllow,
    });
    const roots = config.pushCa === undefined ? [...rootCertificates] : [...rootCertificates, config.pushCa];
    const secureContext = createSecureContext({ ca: roots });
    const pushClient = metrics.push.meter(createPushClient({ ...createHosts(), secureContext }));
    closers.unshift(() => pushClient.close());
    const mailer = config.mail
      ? await createSmtpMailer({ url: config.mail.smtpUrl, from: config.mail.from })
      : loggedMail(log);
    closers.unshift(async () => mailer.close());
    // A separate client, so that operator events and pushes do not share connections or metrics.
    const hookClient = createPushClient({ ...createHosts(), secureContext });
    closers.unshift(() => hookClient.close());
    const operatorReceivers = createOperatorReceivers({
      now: store.now,
      hookClient,
      mailer: config.mail && mailer,
      installation: config.operatorEvents,
    });
    const unreadable = unreadableReports(metrics.counts, log);
    const shardContext = {
      ...store,
      pushQueueMax: config.pushQueueMax,
      pushQueueMaxBytes: store.bounds.pushQueueMaxBytes,
      onUnreadable: unreadable.onUnreadable,
      ...operatorEventReports(metrics.counts, log),
      pushClient,
      tracer,
      mailer,
      operatorReceivers,
      report,
      pushMeter: metrics.push,
      onDrop,
      onFailing(workspaceId: string) {
        metrics.counts.outages += 1;
        log.warn({ workspaceId }, "a bridge has stopped polling while events wait");
      },
      onMailFault(workspaceId: string, error: unknown) {
        metrics.counts.mailFaults += 1;
        log.warn({ workspaceId, code: errorCode(error) }, "an email could not be sent; core will retry");
      },
      onMailRefused(workspaceId: string, error: unknown) {
        metrics.counts.mailFaults += 1;
        metrics.counts.mailsDropped.refused += 1;
        log.error(
          { workspaceId, code: errorCode(error) },
          "the mail server rejected an email permanently, so core dropped the email; check the owner's address",
        );
      },
      onGroupRemoved: (group: string) =>
        log.info({ group }, "a group was removed, because it has had no Follow stream for 24 hours"),
      onMailsDropped(count: number) {
        metrics.counts.mailsDropped.full += count;
        log.error({ count }, "the outbox is full: emails about outages were dropped; check the mail server");
      },
    };
    const leases = holdLeases({
      leases: store.leases,
      member: { group: CORES_GROUP, name: ids.token(), token: ids.token() },
      async work(lease) {
        await Promise.all([
          dispatchShard(shardContext, lease),
          watchShard(shardContext, lease),
          tidyShard(shardContext, lease),
          watchGroups(shardContext, lease),
        ]);
      },
      onFault: (error) => report("leases", error),
    });
    closers.unshift(() => leases.close());
    metrics.store.begin(store.now);
    const watching = new AbortController();
    closers.unshift(async () => watching.abort());
    void metrics.memory.watch(store.readMemory, log, watching.signal);
    metrics.backlog.begin({ ...store, shards: config.shards, heldShards: () => leases.held });

    const streams = new AbortController();
    // Every stream adds a listener, so Node must not warn about the number of listeners.
    setMaxListeners(0, streams.signal);
    const starting = listenForRpc(
      {
        ...store,
        callCounts: metrics.callCounts,
        onUnreadable: unreadable.onUnreadable,
        limitedGames: limitedGames(config.tokens),
        // The message has the change, so that many lines about one kind of change suppress no line about another.
        onChanged: (workspaceId, { by, change }) =>
          log.info({ workspaceId, by, change }, `a workspace was changed: ${change}`),
        onDeleted: (workspaceId, by) => log.info({ workspaceId, by }, "a workspace was deleted"),
        onGroupDeleted: (group, by) => log.info({ group, by }, "a group was deleted"),
        ids,
        pushTracer: pushClient,
        tracer,
        operatorReceivers,
        targetUrlCheck: createTargetUrlCheck(createHosts()),
        stopping: streams.signal,
        whyNotReady: () => whyNotReady(),
        notice: metrics.memory.notice,
        isStopping: () => isStopping,
      },
      {
        at: config.listen,
        tokens: config.tokens,
        tls: config.tls,
        limitConnections: (listener) => void limitConnections(listener, CONNECTIONS),
        report,
      },
    );
    const rpc = await listening("CORE_LISTEN", starting);
    closers.unshift(async () => {
      // The listener is closed first, so that a client that opens its streams again reaches another core.
      const served = rpc.close();
      streams.abort();
      // The listener and the leases are closed in parallel, so that other cores acquire the shards without waiting for
      // this core's last calls.
      await Promise.all([served, leases.close()]);
    });
    if (config.tokens.length === 0)
      log.warn("CORE_TOKENS is empty: core rejects every call except health checks; set CORE_TOKENS");
    whyNotReady = async () => {
      try {
        await store.probe();
        return undefined;
      } catch (error) {
        return replyFault(error) ?? "Redis does not answer";
      }
    };
    log.info({ port: rpc.port, healthPort: health.port, ...BUILD }, "core is ready");
    void countUnreadable(store.secretKeys, streams.signal, unreadable.onCounted, (error) =>
      report("count secrets", error),
    );
    let closing: Promise<void> | undefined;
    function beginDrain(): void {
      whyNotReady = async () => "stopping";
      isStopping = true;
    }
    return {
      port: rpc.port,
      healthPort: health.port,
      drainMs: config.drainMs,
      beginDrain,
      close() {
        beginDrain();
        closing ??= closeInTurn(closers);
        return closing;
      },
    };
  } catch (error) {
    await closeInTurn(closers);
    throw error;
  }
}

/**
 * The bounds of open gRPC connections, which take about 100 KB each. A game, an operator or an edge uses one or two
 * connections. The share has room for all connections that a TCP proxy such as that of docker-compose.yml forwards.
 */
const CONNECTIONS = { max: 4_000, share: 1_000 } as const;
/** The group in which cores share the shards. No group of games can have this name. */
const CORES_GROUP = "!cores";

async function closeInTurn(closers: readonly (() => Promise<void>)[]): Promise<void> {
  for (const close of closers) await close();
}

async function failOnceAborted(signal: AbortSignal): Promise<never> {
  await once(signal, "abort");
  throw new Error("core was stopped while it was starting");
}

const SAME_DROP_EVERY_MS = 10_000;

/**
 * Returns a function that logs dropped inbound events: the first drop immediately, and then the sum of later
 * drops, at most once per `SAME_DROP_EVERY_MS`.
 */
function inboundDropTeller(log: Logger): (dropped: InboundDropped) => void {
  let untold = 0;
  let toldAt = -Infinity;
  return ({ count, reason, group }) => {
    untold += count;
    if (performance.now() - toldAt < SAME_DROP_EVERY_MS) return;
    log.warn(
      { count: untold, reason, group },
      "inbound events were dropped before every group had acked them",
    );
    untold = 0;
    toldAt = performance.now();
  };
}

function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

/** Returns a mailer that logs emails, for a core without a mail server. */
function loggedMail(log: Logger): Mailer {
  return {
    send: async ({ to, subject, text }) =>
      // The log suppresses repeated messages. The log message contains the owner's address, so that emails to
      // different owners have different log messages.
      log.warn({ to, subject, text }, `email to ${to}, logged because SMTP_URL is not set`),
    close: () => undefined,
  };
}
