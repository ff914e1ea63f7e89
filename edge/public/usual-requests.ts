import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import { ERRORS } from "../../contract/errors";
import { BODY_MAX_BYTES } from "../../contract/numbers";
import { answerError } from "./answer";
import type { Exchange, Hooks } from "./hooks";
import { countHosts } from "./public-listener";
import type { TakeTurn } from "./request-turns";
import { sourceAddress, type IsTrusted } from "./source-address";

export interface UsualRequestsOptions {
  readonly hooks: Hooks;
  readonly takeTurn: TakeTurn;
  readonly isTrusted: IsTrusted | undefined;
  /** Whether the edge is about to stop. */
  isDraining(): boolean;
  /** Is called when an answer has been sent. */
  onAnswered(endpoint: "post" | "poll", status: number, elapsedMs: number): void;
}

/** The paths of the endpoints. The patterns match only workspace ids that need no decoding. */
const POST_URL = /^\/hooks\/([\w-]+)$/;
const POLL_URL = /^\/hooks\/([\w-]+)\/events(?:\?|$)/;

/**
 * Answers the usual requests for the two endpoints without Fastify. Fastify answers all other requests, i.e. a request
 * for another path, with an encoded path, in HTTP/1.0, with no or several Host headers, or with a body that is too
 * large or of unknown length. Fastify also answers the requests that arrive while the edge drains.
 *
 * Fastify's router, hooks, and request and reply objects would take between a tenth and a seventh of the edge's
 * processor time (docs/decisions/0042-requests-past-fastify.md).
 */
export function answerUsualRequests(app: FastifyInstance, options: UsualRequestsOptions): void {
  const { server } = app;
  const others = server.listeners("request") as ((
    request: IncomingMessage,
    response: ServerResponse,
  ) => void)[];
  server.removeAllListeners("request");
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (options.isDraining() || !isUsual(request, response, options)) {
      for (const other of others) other(request, response);
    }
  });
}

/** Starts to answer a usual request, and returns true. Returns false for any other request. */
function isUsual(request: IncomingMessage, response: ServerResponse, options: UsualRequestsOptions): boolean {
  const { method, url = "", httpVersion, rawHeaders } = request;
  const endpoint = method === "POST" ? "post" : "poll";
  if (endpoint === "poll" && method !== "GET") return false;
  const workspaceId = (endpoint === "post" ? POST_URL : POLL_URL).exec(url)?.[1];
  if (workspaceId === undefined || httpVersion !== "1.1" || countHosts(rawHeaders) !== 1) return false;
  // A request without a Content-Length has no body, or a body of unknown length.
  if (endpoint === "post" && !(Number(request.headers["content-length"]) <= BODY_MAX_BYTES)) return false;

  const { hooks, takeTurn, isTrusted, onAnswered } = options;
  const beganAt = performance.now();
  response.on("finish", () => onAnswered(endpoint, response.statusCode, performance.now() - beganAt));
  const start = (): void => {
    const exchange = { request, response, workspaceId, sourceAddress: sourceAddress(request, isTrusted) };
    if (endpoint === "post") readBody(exchange, hooks);
    else void hooks.poll(exchange);
  };
  takeTurn(response, start, () => sourceAddress(request, isTrusted));
  return true;
}

/** Reads a body, whose length Node's parser checks, and answers the POST. */
function readBody(exchange: Exchange, hooks: Hooks): void {
  const { request, response } = exchange;
  const chunks: Buffer[] = [];
  let isOver = false;
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    isOver = true;
    const [first = Buffer.alloc(0)] = chunks;
    void hooks.post(exchange, chunks.length < 2 ? first : Buffer.concat(chunks));
  });
  // The client has closed the connection.
  request.on("error", () => {
    if (isOver) return;
    isOver = true;
    response.setHeader("connection", "close");
    answerError(response, ERRORS.incomplete);
  });
}
