import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { PushAnswer, PushReceiver } from "../../../kit/receive-push";
import { listening } from "../../../runtime/listen-fault";
import type { PushConfig } from "../config";
import { createRawServer } from "./raw-server";
import { wireSide, type WireLog } from "./wire-log";

export interface PushListenerOptions {
  readonly push: PushConfig;
  readonly receiver: Pick<PushReceiver, "receive">;
  /** Answers `GET /observe`, given the request's headers and query string; undefined when observation is off. */
  readonly observe: ((headers: IncomingHttpHeaders, query: string) => PushAnswer) | undefined;
  readonly wire: WireLog;
}

/** The path at which the listener receives pushes. */
export const PUSH_PATH = "/pushes";

/** Starts the HTTPS listener that receives pushes. */
export async function listenForPushes({ push, receiver, observe, wire }: PushListenerOptions) {
  const app = createRawServer(push.tls);
  app.post<{ Body: Buffer | undefined }>(PUSH_PATH, async (request, reply) => {
    const at = new Date().toISOString();
    const began = performance.now();
    const { headers, body = Buffer.alloc(0) } = request;
    const answer = await receiver.receive(headers, body);
    wire.add({
      at,
      what: "push",
      method: "POST",
      path: PUSH_PATH,
      request: wireSide(headers, body),
      answer: { status: answer.status, ...wireSide(answer.headers, Buffer.from(answer.body)) },
      failure: null,
      ms: Math.round(performance.now() - began),
    });
    return reply.code(answer.status).headers(answer.headers).send(answer.body);
  });
  if (observe !== undefined) {
    // Requests from `chat-bridge-check` are not logged, because the wire log shows only exchanges with the service.
    app.get("/observe", (request, reply) => {
      // The query stays exactly as sent, because the signature covers its bytes.
      const [, query = ""] = /\?(.*)$/.exec(request.url) ?? [];
      const { status, headers, body } = observe(request.headers, query);
      return reply.code(status).headers(headers).send(body);
    });
  }

  // While the network is cut, connections are closed before the TLS handshake.
  let isCut = false;
  app.server.on("connection", (socket: Socket) => {
    if (isCut) socket.destroy();
  });
  await listening("PUSH_LISTEN", app.listen(push.listen));
  return {
    port: (app.server.address() as AddressInfo).port,
    setCut(cut: boolean): void {
      isCut = cut;
      if (cut) app.server.closeAllConnections();
    },
    close: () => app.close(),
  };
}
