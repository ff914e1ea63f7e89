import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { refusal, type PushAnswer, type PushReceiver } from "../../../kit/receive-push";
import { listening } from "../../../runtime/listen-fault";
import type { PushConfig } from "../config";
import type { Break } from "../shapes";
import { createRawServer } from "./raw-server";
import { eventIdsIn, wireSide, type WireLog } from "./wire-log";

export interface PushListenerOptions {
  readonly push: PushConfig;
  readonly receiver: Pick<PushReceiver, "receive">;
  /** Answers `GET /observe`, given the request's headers and query string; undefined when observation is off. */
  readonly observe: ((headers: IncomingHttpHeaders, query: string) => PushAnswer) | undefined;
  readonly wire: WireLog;
}

/** The path at which the listener receives pushes. */
export const PUSH_PATH = "/pushes";
/** Milliseconds that a slow bridge needs for an answer. The service waits 5 seconds. */
const SLOW_MS = 7_000;
/** Maximum number of pushes that wait for a slow answer. Further pushes are answered with 503. */
const SLOW_MAX = 64;
const UNAVAILABLE = refusal(503, "the bridge is unavailable, because a member of the chat broke it");
const TOO_LATE = "the bridge was too slow, and the service no longer waited";

/** Starts the HTTPS listener that receives pushes. */
export async function listenForPushes({ push, receiver, observe, wire }: PushListenerOptions) {
  const app = createRawServer(push.tls);
  let fault: Break | undefined;
  /** Aborted when the bridge is repaired. */
  let slow = new AbortController();
  let waiting = 0;

  /** Resolves to undefined if the service has closed the connection, so that the bridge ignores the push. */
  async function answerTo(
    headers: IncomingHttpHeaders,
    body: Buffer,
    response: ServerResponse,
  ): Promise<PushAnswer | undefined> {
    if (fault === "unavailable" || (fault === "slow" && waiting >= SLOW_MAX)) return UNAVAILABLE;
    if (fault === "slow") {
      waiting++;
      const isAwaited = await delay(response, slow.signal).finally(() => waiting--);
      if (!isAwaited) return undefined;
    }
    return receiver.receive(headers, body);
  }

  app.post<{ Body: Buffer | undefined }>(PUSH_PATH, async (request, reply) => {
    const at = new Date().toISOString();
    const began = performance.now();
    const { headers, body = Buffer.alloc(0) } = request;
    const answer = await answerTo(headers, body, reply.raw);
    wire.add({
      at,
      what: "push",
      method: "POST",
      path: PUSH_PATH,
      request: wireSide(headers, body),
      eventIds: eventIdsIn(body),
      answer:
        answer === undefined
          ? null
          : { status: answer.status, ...wireSide(answer.headers, Buffer.from(answer.body)) },
      failure: answer === undefined ? TOO_LATE : null,
      ms: Math.round(performance.now() - began),
    });
    if (answer === undefined) return reply.hijack();
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
  app.server.on("connection", (socket: Socket) => {
    if (fault === "cut") socket.destroy();
  });
  await listening("PUSH_LISTEN", app.listen(push.listen));
  return {
    port: (app.server.address() as AddressInfo).port,
    /**
     * Breaks the listener, or repairs it if `how` is undefined. A repair also answers the pushes that wait for a slow
     * answer.
     */
    setFault(how: Break | undefined): void {
      fault = how;
      if (how === "cut") app.server.closeAllConnections();
      if (how !== undefined) return;
      slow.abort();
      slow = new AbortController();
    },
    async close(): Promise<void> {
      slow.abort();
      await app.close();
    },
  };
}

/**
 * Waits for `SLOW_MS`, or until the bridge is repaired or the connection closes. Resolves to whether the connection is
 * still open.
 */
async function delay(response: ServerResponse, repaired: AbortSignal): Promise<boolean> {
  const over = new AbortController();
  const end = (): void => over.abort();
  response.once("close", end);
  repaired.addEventListener("abort", end, { once: true });
  await sleep(SLOW_MS, undefined, { signal: over.signal }).catch(() => undefined);
  repaired.removeEventListener("abort", end);
  return !response.destroyed;
}
