import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { probe } from "./probe";
import type { RunningProcess } from "./processes";

type Backend = Pick<RunningProcess, "port" | "healthPort">;

const PROBE_EVERY_MS = 200;

/**
 * Starts an HTTP proxy that sends each request to the next edge in turn. The proxy reuses connections, probes
 * `/ready`, and stops using an edge after the first failed probe. The proxy never repeats a request: when the
 * connection to an edge fails, the client gets 502.
 */
export async function startBalancer(backends: readonly Backend[]) {
  const known = new Map<Backend, { readonly agent: Agent; isReady: boolean }>();
  let next = 0;

  function add(backend: Backend): void {
    known.set(backend, { agent: new Agent({ keepAlive: true }), isReady: true });
  }

  async function probeAll(): Promise<void> {
    for (const [backend, entry] of known) {
      const answer = await probe(backend, "/ready");
      entry.isReady = answer?.[0] === 200;
    }
  }

  function forward(request: IncomingMessage, response: ServerResponse): void {
    const ready = [...known].filter(([, { isReady }]) => isReady);
    const [backend, entry] = ready[next++ % ready.length] ?? [];
    if (backend === undefined) return void response.writeHead(502).end("no edge is ready");
    const { method, url: path, headers } = request;
    const onward = httpRequest({
      host: "127.0.0.1",
      port: backend.port,
      method,
      path,
      headers,
      agent: entry?.agent,
    });
    onward.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, { "content-type": answer.headers["content-type"] });
      answer.pipe(response);
    });
    onward.on("error", (error) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end(error.message);
    });
    request.pipe(onward);
  }

  for (const backend of backends) add(backend);
  const timer = setInterval(() => void probeAll(), PROBE_EVERY_MS);
  const server = createServer(forward);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add,
    async close() {
      clearInterval(timer);
      for (const { agent } of known.values()) agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
