import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { pino, type Logger } from "pino";
import { listenForProbes } from "../runtime/health-listener";
import { listening } from "../runtime/listen-fault";
import { limitConnections } from "../runtime/limit-connections";
import type { Running } from "../runtime/run-process";
import { formatHostPort, isLoopback } from "../runtime/settings";
import { BUILD } from "../runtime/version";
import { startTracing } from "../runtime/tracing/start-tracing";
import { createAddressShield, shieldCore } from "./public/address-shield";
import type { EdgeConfig } from "./config";
import { CoreCredentials } from "../runtime/core-credentials";
import { createCoreClient, type CoreClient } from "./lane/core-client";
import { CoreRefusesToken } from "./lane/core-unavailable";
import { startDashboard, type Dashboard } from "./dashboard/dashboard";
import { watchCore } from "./core-watch";
import { createEdgeMetrics } from "./edge-metrics";
import { Hooks, type HooksOptions } from "./public/hooks";
import { addHooks } from "./public/hooks-routes";
import { createPublicListener, type PublicListenerOptions } from "./public/public-listener";
import { createRefusalReports } from "./public/refusal-reports";
import { createTurns } from "./public/request-turns";
import { createTrust } from "./public/source-address";
import { createUnsentPages } from "./public/unsent-pages";
import { answerUsualRequests, type UsualRequestsOptions } from "./public/usual-requests";

export interface Edge extends Required<Omit<Running, "failed">> {
  /** The port of the listener for bridges. */
  readonly port: number;
  /** The port of the listener for probes. */
  readonly healthPort: number;
  /** The port of the dashboard; undefined when the dashboard is off. */
  readonly dashboardPort: number | undefined;
  /**
   * Makes `/ready` fail. Starts draining: the edge still accepts and answers requests, but closes each connection after
   * the next answer.
   */
  beginDrain(): void;
  /** Stops accepting requests, finishes the requests in progress, and shuts the edge down. */
  close(): Promise<void>;
}

/**
 * Milliseconds within which requests in progress must finish when the edge stops. Polls finish quickly, because they do
 * not wait for events (no long polling).
 */
const FINISH_WITHIN_MS = 5_000;
const TOKEN_REJECTED =
  "core rejects CORE_TOKEN: set it to a token of the role edge from core's CORE_TOKENS or CORE_TOKENS_FILE";

/**
 * Creates and starts an edge. The edge accepts requests immediately, and answers with 503 while core is unavailable.
 *
 * @param overrides replacements for parts of the edge; only tests use them
 */
export async function createEdge(
  config: EdgeConfig,
  log: Logger = pino({ level: "silent" }),
  overrides: { readonly core?: CoreClient } = {},
): Promise<Edge> {
  const credentials = new CoreCredentials(config.core, log);
  const core = overrides.core ?? connectToCore(config, credentials, log);
  let stopping = false;
  const isDraining = () => stopping;
  const report = (where: string, err: unknown) => log.error({ where, err }, "a request failed unexpectedly");
  const shield = createAddressShield();
  const unsent = createUnsentPages();
  const refusals = createRefusalReports(core.reportRefusals);
  const onUnreadable = (status: number) => metrics.onUnreadable(status);
  const { app, takeTurn, refused } = createBoundedListener(config, { report, onUnreadable, isDraining });
  const metrics = createEdgeMetrics({ load: core.load, shield, unsent, refused, refusals, credentials });
  const whyNotReady = async () => (stopping ? "stopping" : whyUnavailable(core));
  const health = await listenForProbes(config.healthListen, whyNotReady, metrics);
  const tracing = await startTracing(config.tracing, log);
  app.addHook("onResponse", metrics.onResponse);
  let dashboard: Dashboard | undefined;
  try {
    await addEndpoints(app, {
      core: shieldCore(core, shield, refusals),
      unsent,
      refusals,
      tracer: tracing?.tracer,
      report,
      takeTurn,
      isTrusted: createTrust(config.trustProxy),
      isDraining,
      onAnswered: metrics.onAnswered,
    });
    await listening("EDGE_LISTEN", app.listen(config.listen));
    dashboard = await openDashboard(config, credentials, portOf(app), log, report);
  } catch (error) {
    await app.close();
    unsent.close();
    refusals.close();
    core.close();
    credentials.close();
    await health.close();
    throw error;
  }
  const ports = { port: portOf(app), healthPort: health.port, dashboardPort: dashboard?.port };
  log.info(ports, "edge is listening");
  const stopWatch = watchCore({
    log,
    address: config.core.address,
    probe: () => core.probe(),
    onReady: () => log.info({ ...ports, ...BUILD }, "edge is ready"),
  });
  let closing: Promise<void> | undefined;
  return {
    ...ports,
    drainMs: config.drainMs,
    beginDrain() {
      stopping = true;
    },
    close() {
      stopping = true;
      closing ??= (async () => {
        // The watch stops first. Otherwise, the edge would log its own shutdown as an outage of core.
        const watched = stopWatch();
        // A request that never arrives completely must not block the shutdown.
        const late = setTimeout(() => app.server.closeAllConnections(), FINISH_WITHIN_MS);
        await Promise.all([app.close(), dashboard?.close()]);
        clearTimeout(late);
        unsent.close();
        refusals.close();
        core.close();
        credentials.close();
        await watched;
        await tracing?.close();
        await health.close();
      })();
      return closing;
    },
  };
}

/** Creates the listener for bridges, with limits on the number of connections. */
function createBoundedListener(
  { trustProxy, connectionsMax, addressConnectionsMax }: EdgeConfig,
  options: Omit<PublicListenerOptions, "trustProxy" | "takeTurn">,
) {
  const takeTurn = createTurns();
  const app = createPublicListener({ ...options, trustProxy, takeTurn });
  const bounds = { max: connectionsMax, share: addressConnectionsMax, trusted: trustProxy };
  return { app, takeTurn, refused: limitConnections(app.server, bounds) };
}

/** Adds the two endpoints for bridges to the listener. */
async function addEndpoints(
  app: FastifyInstance,
  options: HooksOptions & Omit<UsualRequestsOptions, "hooks">,
): Promise<void> {
  const hooks = new Hooks(options);
  await app.register(async (scope) => addHooks(scope, hooks));
  answerUsualRequests(app, { ...options, hooks });
}

function connectToCore(config: EdgeConfig, credentials: CoreCredentials, log: Logger): CoreClient {
  const onRefused = (why: string): void => log.error({ why }, TOKEN_REJECTED);
  return createCoreClient({ ...config.core, credentials, onRefused });
}

function portOf({ server }: FastifyInstance): number {
  return (server.address() as AddressInfo).port;
}

/** Returns the reason why core cannot answer; undefined when core is available. */
function whyUnavailable(core: CoreClient): Promise<string | undefined> {
  return core.probe().then(
    () => undefined,
    (error) => (error instanceof CoreRefusesToken ? "core rejects CORE_TOKEN" : "core is unavailable"),
  );
}

/** Starts the dashboard; returns undefined when it is off. `port` is the port of the listener for bridges. */
async function openDashboard(
  { dashboardListen, trustProxy, publicUrl, demo, core, listen }: EdgeConfig,
  credentials: CoreCredentials,
  port: number,
  log: Logger,
  report: (where: string, error: unknown) => void,
): Promise<Dashboard | undefined> {
  if (dashboardListen === undefined) return undefined;
  if (!isLoopback(dashboardListen.host) && trustProxy.length === 0) {
    log.warn(
      "the dashboard at DASHBOARD_LISTEN is reachable from other machines without TLS: put a TLS proxy in front of it, and set TRUST_PROXY",
    );
  }
  return startDashboard({
    listen: dashboardListen,
    core,
    credentials,
    trustProxy,
    publicUrl: publicUrl ?? `http://${formatHostPort({ ...listen, port })}`,
    demo,
    report: (where, error) => report(`dashboard ${where}`, error),
  });
}
