import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { listening } from "./listen-fault";
import { limitConnections } from "./limit-connections";
import type { Metrics } from "./metrics";
import { REQUEST_TIMEOUTS } from "./request-timeouts";
import type { HostPort } from "./settings";
import { BUILD } from "./version";

/** The bounds of open connections. Probes and Prometheus need only a few connections. */
const CONNECTIONS = { max: 256, share: 64 } as const;

/** Returns the reason why a process is not ready for requests; undefined when the process is ready. */
export type WhyNotReady = () => Promise<string | undefined>;

/** The HTTP listener for probes, separate from the process's other listeners. */
export interface HealthListener {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Answers probes (health checks) at HEALTH_LISTEN (core 50052, edge 8081) with JSON; probes need no token. The answer
 * to `GET /live` (liveness) is 200 while the process runs. The answer to `GET /ready` (readiness) is 200 if the process
 * is ready, and otherwise 503 with the reason; both contain the version and the commit. A ready process can add a
 * `notice`, e.g. that memory is nearly full. Also answers `GET /metrics` if the process has metrics.
 */
export async function listenForProbes(
  at: HostPort,
  whyNotReady: WhyNotReady,
  metrics?: Pick<Metrics, "contentType" | "text">,
  notice: () => string | undefined = () => undefined,
): Promise<HealthListener> {
  const server = createServer(REQUEST_TIMEOUTS, (request, response) => {
    const answer = (status: number, body: object): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    request.resume();
    switch (request.url) {
      case "/live":
        return answer(200, { live: true });
      case "/ready":
        void whyNotReady().then(
          (reason) =>
            reason === undefined
              ? answer(200, { ready: true, notice: notice(), ...BUILD })
              : answer(503, { ready: false, reason, ...BUILD }),
          () => answer(503, { ready: false, reason: "the probe failed", ...BUILD }),
        );
        return undefined;
      case "/metrics":
        if (metrics === undefined) return answer(404, { message: "this process has no metrics" });
        void metrics.text().then(
          (text) => response.writeHead(200, { "content-type": metrics.contentType }).end(text),
          () => answer(500, { message: "the metrics could not be read" }),
        );
        return undefined;
      default:
        return answer(404, { message: "not found: the paths are /live, /ready and /metrics" });
    }
  });
  limitConnections(server, CONNECTIONS);
  server.listen(at.port, at.host);
  await listening("HEALTH_LISTEN", once(server, "listening"));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
