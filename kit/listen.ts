import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";

/**
 * Settings of the server that receives pushes. The service pushes only to public HTTPS addresses, so set `key` and
 * `cert`, or listen behind a proxy that terminates TLS.
 */
export interface ListenOptions {
  readonly port: number;
  /**
   * Address to listen on; `127.0.0.1` by default, for a proxy on the same machine. `0.0.0.0` or `::` listens on all
   * addresses.
   */
  readonly host?: string;
  /**
   * Path of the target URL: `/` and at least one more character; `/events` by default. Other paths are answered with
   * `404`.
   */
  readonly path?: string;
  /** Private key, PEM. */
  readonly key?: string | Buffer;
  /** Certificate with its chain, PEM. */
  readonly cert?: string | Buffer;
}

/**
 * Once the server listens, resolves to a function that closes the server. Rejects if the server cannot listen. A
 * closing server answers its pending requests, but drops all connections when `signal` is aborted.
 */
export async function listenForPushes(
  options: ListenOptions,
  handler: RequestListener,
  signal: AbortSignal,
): Promise<() => Promise<void>> {
  const { port, host = "127.0.0.1", path = "/events", key, cert } = options;
  const answer: RequestListener = (request, response) => {
    if (request.url?.split("?")[0] === path) handler(request, response);
    else response.writeHead(404).end();
  };
  const server =
    key === undefined || cert === undefined
      ? createHttpServer(answer)
      : createHttpsServer({ key, cert }, answer);
  server.listen(port, host);
  await once(server, "listening");
  return async () => {
    const closed = once(server, "close");
    server.close();
    server.closeIdleConnections();
    signal.addEventListener("abort", () => server.closeAllConnections());
    await closed;
  };
}
