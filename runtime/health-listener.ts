import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { HostPort } from "./settings";

/** Why a process is not ready for requests, or undefined when it is. */
export type WhyNotReady = () => Promise<string | undefined>;

/** The listener for probes, apart from the one for users. */
export interface HealthListener {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Answers `GET /live` (the process runs: 200) and `GET /ready` (200, or 503 with
 * the reason) as JSON.
 */
export async function listenForProbes(at: HostPort, whyNotReady: WhyNotReady): Promise<HealthListener> {
  const server = createServer((request, response) => {
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
            answer(
              ...((reason === undefined ? [200, { ready: true }] : [503, { ready: false, reason }]) as [
                number,
                object,
              ]),
            ),
          () => answer(503, { ready: false, reason: "the probe failed" }),
        );
        return undefined;
      default:
        return answer(404, { message: "there are /live and /ready" });
    }
  });
  server.listen(at.port, at.host);
  await once(server, "listening");
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
