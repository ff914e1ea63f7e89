import { createSecureContext, rootCertificates } from "node:tls";
import { pino, type Logger } from "pino";
import { listenForProbes } from "../runtime/health-listener";
import { formatHostPort } from "../runtime/settings";
import type { CoreConfig } from "./config";
import { createPushClient } from "./delivery/push-client";
import { createSmtpMailer } from "./delivery/smtp-mailer";
import { watchShard } from "./delivery/shard-watch";
import type { Mailer } from "./ports/mailer";
import type { QueuedPush } from "./ports/push-queue";
import { dispatchShard } from "./delivery/shard-dispatcher";
import { holdShards } from "./delivery/shard-holder";
import { createNameLookup } from "./delivery/system-names";
import { createTargetUrlCheck } from "./delivery/target-url-check";
import { CONTRACT_LIMITS, NO_LIMITS } from "./domain/contract";
import { createIds } from "./ids";
import type { NameLookup } from "./ports/name-lookup";
import type { ReportFault } from "./rpc/status";
import { listenForRpc } from "./rpc/server";
import { createSecretBox } from "./store/secret-box";
import { openStore } from "./store/store";

/** What tests put in the place of the world outside. */
export interface CoreOverrides {
  readonly names?: NameLookup;
}

export interface Core {
  /** Where gRPC is served and where probes are answered. */
  readonly port: number;
  readonly healthPort: number;
  /** Stops accepting, finishes, closes. */
  close(): Promise<void>;
}

/**
 * Puts a core together and starts it: probes at once, gRPC when Redis answers,
 * for which it waits as long as it takes or until `stopping`.
 */
export async function createCore(
  config: CoreConfig,
  log: Logger = pino({ level: "silent" }),
  overrides: CoreOverrides = {},
  stopping: AbortSignal = new AbortController().signal,
): Promise<Core> {
  let whyNotReady: () => Promise<string | undefined> = async () => "waiting for Redis";
  const health = await listenForProbes(config.healthListen, () => whyNotReady());
  const closers: (() => Promise<void>)[] = [() => health.close()];
  try {
    const store = await untilAborted(
      openStore({
        redisUrl: config.redisUrl,
        shards: config.shards,
        inboundLogMax: config.inboundLogMax,
        limits: config.limitsLifted ? NO_LIMITS : CONTRACT_LIMITS,
        secretBox: createSecretBox(config.secretsKeys),
        onError: (error) => log.warn({ code: errorCode(error) }, "no connection to Redis"),
      }),
      stopping,
    );
    closers.unshift(() => store.close());

    const report: ReportFault = (where, error) => log.error({ where, err: error }, "failed unexpectedly");
    const ids = createIds(store.now);
    const hosts = { names: overrides.names ?? createNameLookup(config.dnsServers), allow: config.pushAllow };
    const roots = config.pushCa === undefined ? [...rootCertificates] : [...rootCertificates, config.pushCa];
    const pushClient = createPushClient({ ...hosts, secureContext: createSecureContext({ ca: roots }) });
    closers.unshift(() => pushClient.close());
    const mailer = config.mail
      ? createSmtpMailer({ url: config.mail.smtpUrl, from: config.mail.from })
      : loggedMail(log);
    closers.unshift(async () => mailer.close());
    const shardContext = {
      ...store,
      pushClient,
      mailer,
      report,
      onDrop: ({ workspaceId, eventId, eventType }: QueuedPush, reason: string) =>
        log.warn({ workspaceId, eventId, eventType, reason }, "a push was given up"),
      onFailing: (workspaceId: string) =>
        log.warn({ workspaceId }, "a bridge has stopped polling while events wait"),
      onMailFault: (workspaceId: string, error: unknown) =>
        log.warn({ workspaceId, code: errorCode(error) }, "mail could not be sent, it will be tried again"),
    };
    const shardHolder = holdShards({
      leases: store.leases,
      member: { group: CORES_GROUP, name: ids.token(), token: ids.token() },
      report,
      work: async (hold) => {
        await Promise.all([dispatchShard(shardContext, hold), watchShard(shardContext, hold)]);
      },
    });
    closers.unshift(() => shardHolder.close());

    const streams = new AbortController();
    const rpc = await listenForRpc(
      {
        ...store,
        ids,
        pushTracer: pushClient,
        targetUrlCheck: createTargetUrlCheck(hosts),
        stopping: streams.signal,
      },
      {
        address: formatHostPort(config.listen),
        tokens: config.tokens,
        tls: config.tls,
        report,
      },
    );
    closers.unshift(async () => {
      streams.abort();
      await rpc.close();
    });
    if (config.limitsLifted)
      log.warn("UNSAFE_LIFT_LIMITS is set: THE CONTRACT'S LIMITS ARE NOT KEPT, for measuring only");
    if (config.tokens.length === 0) log.warn("CORE_TOKENS is empty: every call will be refused");
    whyNotReady = async () => {
      try {
        await store.probe();
        return undefined;
      } catch {
        return "Redis does not answer";
      }
    };
    log.info({ port: rpc.port, healthPort: health.port }, "core is ready");
    let closing: Promise<void> | undefined;
    return {
      port: rpc.port,
      healthPort: health.port,
      close() {
        whyNotReady = async () => "stopping";
        closing ??= closeInTurn(closers);
        return closing;
      },
    };
  } catch (error) {
    await closeInTurn(closers);
    throw error;
  }
}

/** The group that cores share the shards' work out in. No group of followers can have this name. */
const CORES_GROUP = "!cores";

async function closeInTurn(closers: readonly (() => Promise<void>)[]): Promise<void> {
  for (const close of closers) await close();
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return Promise.race([
    promise,
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("stopped while starting")), { once: true });
    }),
  ]);
}

function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

/** Where there is no mail server, mail is what the log says. */
function loggedMail(log: Logger): Mailer {
  return {
    send: async ({ to, subject, text }) =>
      log.warn({ to, subject, text }, "mail, logged as SMTP_URL is not set"),
    close: () => undefined,
  };
}
