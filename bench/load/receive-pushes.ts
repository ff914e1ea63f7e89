import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Server } from "node:net";

/** A self-signed certificate for 127.0.0.1, in PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

const KEEP_ALIVE_MS = 60_000;

type Take = (request: IncomingMessage, body: Buffer, response: ServerResponse) => void;

/** Listens for pushes like a bridge, and calls `take` to answer each push. Resolves to the port. */
export function receivePushes(certificate: Certificate, take: Take): Promise<number> {
  return listen(createPushServer(certificate, take));
}

/** Creates the same server as `receivePushes`, but without listening yet. */
export function createPushServer({ key, cert }: Certificate, take: Take) {
  return createServer({ key, cert, keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => take(request, Buffer.concat(chunks), response));
  });
}

/** Listens on a free loopback port. Resolves to the port. */
export async function listen(server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}
