import { pino, type Logger } from "pino";
import { listenForProbes } from "../runtime/health-listener";
import { formatHostPort } from "../runtime/settings";
import type { CoreConfig } from "./config";
import { systemNames } from "./delivery/system-names";
import { createTargetUrlCheck } from "./delivery/target-url-check";
import { createIds } from "./ids";
import type { NameLookup } from "./ports/name-lookup";
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
        secretBox: createSecretBox(config.secretsKeys),
        onError: (error) => log.warn({ code: errorCode(error) }, "no connection to Redis"),
      }),
      stopping,
    );
    closers.unshift(() => store.close());

    const streams = new AbortController();
    const rpc = await listenForRpc(
      {
        ...store,
        ids: createIds(store.now),
        targetUrlCheck: createTargetUrlCheck({
          names: overrides.names ?? systemNames,
          allow: config.pushAllow,
        }),
        stopping: streams.signal,
      },
      {
        address: formatHostPort(config.listen),
        tokens: config.tokens,
        tls: config.tls,
        report: (where, error) => log.error({ where, err: error }, "a call failed unexpectedly"),
      },
    );
    closers.unshift(async () => {
      streams.abort();
      await rpc.close();
    });
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

function errorCode(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
