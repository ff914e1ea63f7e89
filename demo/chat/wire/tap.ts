import { exchange } from "../../../bridge/http-exchange";
import { bytesOf, createRawServer } from "./raw-server";
import { wireSide, type WireLog } from "./wire-log";

/**
 * A proxy on loopback between the bridge and the service. It forwards each
 * request with its exact body and records it in the wire log. While it is cut,
 * it drops the bridge's connections, as an unreachable network does.
 */
export interface Tap {
  /** The base URL to use instead of the service's own. */
  readonly baseUrl: string;
  setCut(isCut: boolean): void;
  close(): Promise<void>;
}

const ANSWER_MAX_BYTES = 32 * 1024 * 1024;
const PASS_WITHIN_MS = 30_000;
const PASSED_ON = ["content-type", "service-signature"];
const PASSED_BACK = ["content-type", "service-signature", "service-workspace", "retry-after"];

export async function startTap(serviceUrl: string, wire: WireLog): Promise<Tap> {
  const service = new URL(serviceUrl);
  /** Aborted while the network is cut. */
  let network = new AbortController();

  const { app, listen } = createRawServer(null);
  app.route({
    method: ["GET", "POST"],
    url: "/*",
    async handler(request, reply) {
      const method = request.method === "POST" ? "POST" : "GET";
      const at = new Date().toISOString();
      const began = performance.now();
      const body = bytesOf(request);
      const { signal } = network;
      const answer = await exchange({
        url: service.origin + request.url,
        method,
        headers: only(PASSED_ON, (name) => request.headers[name]?.toString()),
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
        answer: isAnswer ? { status: answer.status, ...wireSide(answer.headers, answer.body) } : null,
        failure: isAnswer ? null : signal.aborted ? "the network is cut" : `no answer: ${answer.failed}`,
        ms: Math.round(performance.now() - began),
      });
      if (!isAnswer) {
        request.raw.destroy();
        return reply.hijack();
      }
      const headers = only(PASSED_BACK, (name) => answer.headers.get(name) ?? undefined);
      return reply.code(answer.status).headers(headers).send(answer.body);
    },
  });
  const port = await listen({ host: "127.0.0.1", port: 0 });
  return {
    baseUrl: `http://127.0.0.1:${port}${service.pathname}`,
    setCut(isCut) {
      if (isCut) network.abort();
      else if (network.signal.aborted) network = new AbortController();
    },
    async close() {
      network.abort();
      await app.close();
    },
  };
}

/** The headers of `names` that have a value. */
function only(
  names: readonly string[],
  valueOf: (name: string) => string | undefined,
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = valueOf(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
