import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Handler = (request: IncomingMessage & { body?: unknown }, response: ServerResponse) => void;

/** A server on a free port. */
export interface Host {
  readonly url: string;
  close(): Promise<unknown>;
}

/** Serves a request handler over HTTP with Node's own server, without a framework. */
export async function plainHost(handler: Handler): Promise<Host> {
  const server: Server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeIdleConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
