import { exchange } from "../../../kit/http-exchange";
import { createRawServer } from "./raw-server";
import { contractHeaders, eventIdsIn, wireSide, type WireLog } from "./wire-log";

const ANSWER_MAX_BYTES = 32 * 1024 * 1024;
const PASS_WITHIN_MS = 30_000;

/**
 * Starts a proxy on loopback between the bridge and the service. The proxy forwards
 * each request with its exact body, and records the exchange in the wire log. While
 * the network is cut, the proxy closes the bridge's connections without an answer.
 */
export async function startTap(serviceUrl: string, wire: WireLog) {
  const service = new URL(serviceUrl);
  /** Aborted while the network is cut. */
  let network = new AbortController();

  const app = createRawServer(null);
  app.route<{ Body: Buffer | undefined }>({
    method: ["GET", "POST"],
    url: "/*",
    async handler(request, reply) {
      const method = request.method === "POST" ? "POST" : "GET";
      const at = new Date().toISOString();
      const began = performance.now();
      const { body = Buffer.alloc(0) } = request;
      const { signal } = network;
      const answer = await exchange({
        url: service.origin + request.url,
        method,
        headers: contractHeaders(request.headers),
        ...(method === "POST" ? { body } : {}),
        timeoutMs: PASS_WITHIN_MS,
        answerMaxBytes: ANSWER_MAX_BYTES,
        signal,
      });
      const isAnswer = "status" in answer;
      wire.add({
        at,
        what: method === "POST" ? "report" : "poll",
        method,
        path: request.url,
        request: wireSide(request.headers, body),
        eventIds: isAnswer && method === "GET" ? eventIdsIn(answer.body) : [],
        answer: isAnswer ? { status: answer.status, ...wireSide(answer.headers, answer.body) } : null,
        failure: isAnswer ? null : signal.aborted ? "the network is cut" : `no answer: ${answer.why}`,
        ms: Math.round(performance.now() - began),
      });
      if (isAnswer) {
        return reply.code(answer.status).headers(contractHeaders(answer.headers)).send(answer.body);
      }
      // After a request's body was read, `request.raw.destroy()` leaves the connection open, so the socket is
      // destroyed.
      request.raw.socket.destroy();
      return reply.hijack();
    },
  });
  const address = await app.listen({ host: "127.0.0.1", port: 0 });
  return {
    /** Base URL of the proxy, which the bridge uses instead of the service's base URL. */
    baseUrl: address + service.pathname,
    setCut(isCut: boolean): void {
      if (isCut) network.abort();
      else if (network.signal.aborted) network = new AbortController();
    },
    async close(): Promise<void> {
      network.abort();
      await app.close();
    },
  };
}
