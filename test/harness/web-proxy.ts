import { once } from "node:events";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Certificate } from "./test-ca";

export interface WebProxyOptions {
  /** The certificate of the proxy; undefined for plain HTTP. */
  readonly certificate?: Pick<Certificate, "key" | "cert">;
  /** The address on which the proxy listens, by default a loopback address. */
  readonly host?: string;
  /** The port to which the proxy forwards; undefined for a proxy that answers every request by itself. */
  readonly to?: number;
  /** Returns true if this function answers the request. If it returns false, the proxy forwards the request. */
  answer?(request: IncomingMessage, response: ServerResponse): boolean;
  /** The headers that the proxy adds, by default those of a correct proxy. */
  forwarded?(request: IncomingMessage): Readonly<Record<string, string>>;
}

/** Starts a reverse proxy on a free loopback port. Its options can make the proxy faulty. */
export async function startWebProxy({
  certificate,
  host = "127.0.0.1",
  to,
  answer,
  forwarded = appended,
}: WebProxyOptions) {
  const handle = (incoming: IncomingMessage, response: ServerResponse): void => {
    if (answer?.(incoming, response) === true) return void incoming.resume();
    const { method, url: path, headers } = incoming;
    const sent = request({ port: to, method, path, headers: { ...headers, ...forwarded(incoming) } });
    sent.on("error", () => response.writeHead(502, { server: "test-proxy" }).end("Bad Gateway"));
    sent.on("response", (answered) => {
      response.writeHead(answered.statusCode ?? 0, answered.headers);
      answered.pipe(response);
    });
    incoming.pipe(sent);
  };
  const server = certificate === undefined ? createServer(handle) : createTlsServer(certificate, handle);
  server.listen(0, host);
  await once(server, "listening");
  const scheme = certificate === undefined ? "http" : "https";
  return {
    url: `${scheme}://${host}:${(server.address() as AddressInfo).port}`,
    close(): void {
      server.close();
      server.closeAllConnections();
    },
  };
}

function appended({ headers, socket }: IncomingMessage): Readonly<Record<string, string>> {
  const before = headers["x-forwarded-for"];
  const peer = socket.remoteAddress ?? "";
  return {
    "x-forwarded-for": before === undefined ? peer : `${String(before)}, ${peer}`,
    "x-forwarded-proto": "encrypted" in socket ? "https" : "http",
  };
}
