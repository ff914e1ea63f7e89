import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { readBody } from "../../../bridge/read-body";
import type { PushAnswer, PushReceiver } from "../../../bridge/receive-push";
import type { HostPort } from "../../../runtime/settings";
import { wireSide, type WireLog } from "./wire-log";

/** The HTTPS listener that receives pushes. */
export interface PushListener {
  readonly port: number;
  setCut(isCut: boolean): void;
  close(): Promise<void>;
}

export interface PushListenerOptions {
  readonly listen: HostPort;
  /** In PEM. */
  readonly tls: { readonly cert: Buffer; readonly key: Buffer };
  readonly receiver: Pick<PushReceiver, "receive">;
  /** Answers a request for everything that the chat shows, by its headers and query string; undefined when off. */
  readonly observe: ((headers: IncomingHttpHeaders, query: string) => PushAnswer) | undefined;
  readonly wire: WireLog;
}

/** The path of the target URL. */
export const PUSH_PATH = "/pushes";
/** The path for `chat-bridge-check`. Its requests are not part of the wire log, because the service sends none. */
const OBSERVE_PATH = "/observe";

const BODY_BOUNDS = { maxBytes: 1024 * 1024, withinMs: 5_000 };

export async function listenForPushes({
  listen,
  tls,
  receiver,
  observe,
  wire,
}: PushListenerOptions): Promise<PushListener> {
  let isCut = false;

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path, query = ""] = splitAtQuery(request.url ?? "");
    if (observe !== undefined && request.method === "GET" && path === OBSERVE_PATH) {
      request.resume();
      const { status, headers, body } = observe(request.headers, query);
      return void response.writeHead(status, headers).end(body);
    }
    if (request.method !== "POST" || request.url !== PUSH_PATH) {
      request.resume();
      return void response
        .writeHead(404, { "content-type": "text/plain" })
        .end("Not found: pushes go to /pushes.\n");
    }
    const at = new Date().toISOString();
    const began = performance.now();
    const body = await readBody(request, BODY_BOUNDS);
    if (typeof body === "string") return void request.destroy();
    const answer = await receiver.receive(request.headers, body);
    wire.add({
      at,
      what: "push",
      method: "POST",
      path: PUSH_PATH,
      request: wireSide(request.headers, body),
      answer: { status: answer.status, ...wireSide(answer.headers, Buffer.from(answer.body)) },
      failure: null,
      ms: Math.round(performance.now() - began),
    });
    response.writeHead(answer.status, answer.headers).end(answer.body);
  }

  const server = createServer(tls, (request, response) => {
    response.on("error", () => undefined);
    take(request, response).catch(() => request.destroy());
  });
  // A cut network drops connections before the TLS handshake.
  server.on("connection", (socket: Socket) => {
    if (isCut) socket.destroy();
  });
  server.on("tlsClientError", () => undefined);
  server.listen(listen.port, listen.host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    setCut(cut) {
      isCut = cut;
      if (cut) server.closeAllConnections();
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** Splits a URL at its first `?`. The query stays exactly as sent, because the signature covers its bytes. */
function splitAtQuery(url: string): readonly [path: string, query?: string] {
  const at = url.indexOf("?");
  return at < 0 ? [url] : [url.slice(0, at), url.slice(at + 1)];
}
