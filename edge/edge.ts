import type { AddressInfo } from "node:net";
import { pino, type Logger } from "pino";
import { listenForProbes } from "../runtime/health-listener";
import { createAddressShield, NO_SHIELD } from "./address-shield";
import type { EdgeConfig } from "./config";
import { createCoreClient, type CoreClient } from "./core-client";
import { addHooks } from "./hooks";
import { shieldCore } from "./shielded-core";
import { createPublicListener } from "./public-listener";

/** What tests put in the place of the world outside. */
export interface EdgeOverrides {
  readonly core?: CoreClient;
}

export interface Edge {
  /** Where bridges are served and where probes are answered. */
  readonly port: number;
  readonly healthPort: number;
  /** Stops accepting, finishes, closes. */
  close(): Promise<void>;
}

const FINISH_WITHIN_MS = 5_000;

/** Puts an edge together and starts it. It serves at once, and answers 503 while core is out of reach. */
export async function createEdge(
  config: EdgeConfig,
  log: Logger = pino({ level: "silent" }),
  overrides: EdgeOverrides = {},
): Promise<Edge> {
  const core =
    overrides.core ??
    createCoreClient({
      address: config.coreAddress,
      token: config.coreToken,
      tls: config.coreTls,
      calls: config.coreCalls,
    });
  let stopping = false;
  const health = await listenForProbes(config.healthListen, async () => {
    if (stopping) return "stopping";
    return core.probe().then(
      () => undefined,
      () => "core is out of reach",
    );
  });
  const app = createPublicListener({
    trustProxy: config.trustProxy,
    report: (where, error) => log.error({ where, err: error }, "a request failed unexpectedly"),
  });
  try {
    if (config.limitsLifted) {
      log.warn("UNSAFE_LIFT_LIMITS is set: THE CONTRACT'S LIMITS ARE NOT KEPT, for measuring only");
    }
    const shield = config.limitsLifted ? NO_SHIELD : createAddressShield();
    await app.register(async (hooks) => addHooks(hooks, shieldCore(core, shield)));
    await app.listen(config.listen);
  } catch (error) {
    core.close();
    await health.close();
    throw error;
  }
  const { port } = app.server.address() as AddressInfo;
  log.info({ port, healthPort: health.port }, "edge is ready");
  let closing: Promise<void> | undefined;
  return {
    port,
    healthPort: health.port,
    close() {
      stopping = true;
      closing ??= (async () => {
        // A request that never becomes whole must not hold up the stop.
        const late = setTimeout(() => app.server.closeAllConnections(), FINISH_WITHIN_MS);
        await app.close();
        clearTimeout(late);
        core.close();
        await health.close();
      })();
      return closing;
    },
  };
}
