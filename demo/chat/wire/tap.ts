import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exchange } from "../../../bridge/http-exchange";
import { readBody } from "../../../bridge/read-body";
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

const BODY_MAX_BYTES = 1024 * 1024;
const ANSWER_MAX_BYTES = 32 * 1024 * 1024;
const PASS_WITHIN_MS = 30_000;
const PASSED_ON = ["content-type", "service-signature"];
const PASSED_BACK = ["content-type", "service-signature", "service-workspace", "retry-after"];

export async function startTap(serviceUrl: string, wire: WireLog): Promise<Tap> {
  const service = new URL(serviceUrl);
  /** Aborted while the network is cut. */
  let network = new AbortController();

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url: path = "/" } = request;
    const isReport = method === "POST";
    const at = new Date().toISOString();
    const began = performance.now();
    const body = await readBody(request, { maxBytes: BODY_MAX_BYTES, withinMs: PASS_WITHIN_MS });
    if (typeof body === "string") return void request.destroy();
    const { signal } = network;
    const answer = await exchange({
      url: new URL(path, service.origin).href,
      method: isReport ? "POST" : "GET",
      headers: only(PASSED_ON, (name) => request.headers[name]?.toString()),
      ...(isReport ? { body } : {}),
      timeoutMs: PASS_WITHIN_MS,
      answerMaxBytes: ANSWER_MAX_BYTES,
      signal,
    });
    const isAnswer = "status" in answer;
    wire.add({
      at,
      what: isReport ? "report" : "poll",
      method: isReport ? "POST" : "GET",
      path,
      request: wireSide(request.headers, body),
      answer: isAnswer ? { status: answer.status, ...wireSide(answer.headers, answer.body) } : null,
      failure: isAnswer ? null : signal.aborted ? "the network is cut" : `no answer: ${answer.failed}`,
      ms: Math.round(performance.now() - began),
    });
    if (!isAnswer) return void request.destroy();
    response.writeHead(
      answer.status,
      only(PASSED_BACK, (name) => answer.headers.get(name) ?? undefined),
    );
    response.end(answer.body);
  }

  const server = createServer((request, response) => {
    response.on("error", () => undefined);
    pass(request, response).catch(() => request.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}${service.pathname}`,
    setCut(isCut) {
      if (isCut) network.abort();
      else if (network.signal.aborted) network = new AbortController();
    },
    async close() {
      network.abort();
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

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
