import type { Socket } from "node:net";
import type { Duplex, Readable } from "node:stream";
import fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { ERRORS } from "../../contract/errors";
import { HEADERS_MAX_BYTES } from "../../contract/numbers";
import { REQUEST_TIMEOUTS } from "../../runtime/request-timeouts";
import { CoreUnavailable } from "../lane/core-unavailable";
import { errorBody, UNAVAILABLE, type ErrorAnswer } from "./error-body";
import { createTurns, type TakeTurn } from "./request-turns";
import { canonicalAddress, createTrust } from "./source-address";

export interface PublicListenerOptions {
  readonly trustProxy: readonly string[];
  readonly takeTurn?: TakeTurn;
  /** Is called with the status of the answer to a request that could not be parsed. */
  onUnreadable?(status: number): void;
  /** Milliseconds after which a connection is closed if the client does not read any of the answer. */
  readonly stalledMs?: number;
  /** Whether the edge is about to stop. If so, the edge closes each connection after its next answer. */
  isDraining?(): boolean;
  /** Is called with errors that are bugs. */
  report(where: string, error: unknown): void;
}

const KEEP_ALIVE_MS = 65_000;
/** The default of `stalledMs`. This timeout also applies to answers that are too small for `UnsentPages` to count. */
const STALLED_MS = 60_000;
/**
 * Maximum bytes of an oversized body that the edge reads and discards, so that the sender gets an answer instead of a
 * reset.
 */
const DRAIN_MAX_BYTES = 16 * 1_048_576;
const DRAIN_MAX_MS = 1_000;
const HOST = "host";

/** Creates the HTTP server for bridges, without routes. The server's own errors have the contract's error body. */
export function createPublicListener({
  trustProxy,
  report,
  onUnreadable,
  isDraining = () => false,
  stalledMs = STALLED_MS,
  takeTurn = createTurns(),
}: PublicListenerOptions): FastifyInstance {
  const app = fastify({
    trustProxy: createTrust(trustProxy) ?? false,
    requestTimeout: REQUEST_TIMEOUTS.requestTimeout,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionTimeout: stalledMs,
    http: {
      ...REQUEST_TIMEOUTS,
      maxHeaderSize: HEADERS_MAX_BYTES,
      // A hook below checks the Host header, because Node's own answer to a request without this header has no body.
      requireHostHeader: false,
    },
    exposeHeadRoutes: false,
    forceCloseConnections: "idle",
    // A stopping edge still answers the requests that have arrived, because Fastify's own 503 would not have the
    // contract's body.
    return503OnClosing: false,
    // A long path segment is treated like any other unknown workspace id, so its length is not limited here.
    routerOptions: { maxParamLength: HEADERS_MAX_BYTES },
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, onUnreadable),
    // A malformed path gets the same answer as an unknown path.
    frameworkErrors: (_error, _request, reply) => {
      void sendError(reply, ERRORS.notFound);
    },
  });
  app.removeAllContentTypeParsers();
  // Limits only the total bytes of the headers, not their number: above a maximum number, Node would drop headers
  // without an error.
  app.server.maxHeadersCount = 0;
  // A client that closes only its half of the connection still gets its answer. Node has no documented option for
  // half-open connections.
  Object.assign(app.server, { httpAllowHalfOpen: true });
  // An Expect header with a value other than 100-continue is ignored. A CONNECT request is answered with 404.
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
  app.server.on("connect", (_request, socket) => endWith(socket, ERRORS.notFound));
  // Tells each client of a draining edge to close its connection. Otherwise, a request that arrives while the listener
  // closes the connection would be lost.
  app.addHook("onRequest", (_request, reply, done) => {
    if (isDraining()) void reply.raw.setHeader("connection", "close");
    done();
  });
  app.addHook("onRequest", (request, reply, done) =>
    takeTurn(reply.raw, done, () => canonicalAddress(request.ip, request.socket.remoteAddress)),
  );
  app.addHook("onRequest", ({ raw }, reply, done) => {
    const hosts = countHosts(raw.rawHeaders);
    if (hosts > 1 || (hosts === 0 && raw.httpVersion === "1.1")) {
      void sendError(reply.header("connection", "close"), ERRORS.notHttp);
    } else {
      done();
    }
  });
  app.setNotFoundHandler((_request, reply) => sendError(reply, ERRORS.notFound));
  app.setErrorHandler(async (error: Error & { statusCode?: number }, request, reply) => {
    // An unknown path is answered with 404, even if another part of the request is invalid, e.g. the Content-Type.
    if (request.is404) return sendError(reply, ERRORS.notFound);
    if (error instanceof CoreUnavailable) return sendError(reply, UNAVAILABLE);
    if (error.statusCode === ERRORS.tooLarge.status) {
      await drain(request.raw);
      return sendError(reply, ERRORS.tooLarge);
    }
    if (error.statusCode === 400) return sendError(reply, ERRORS.incomplete);
    report(request.routeOptions.url ?? "", error);
    return sendError(reply, ERRORS.internal);
  });
  return app;
}

/** Returns the number of Host headers. Counts the raw headers, because `headers` has only the first Host header. */
export function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  // Names and values alternate.
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.length === HOST.length && rawHeaders[i]?.toLowerCase() === HOST) count++;
  }
  return count;
}

export function sendError(reply: FastifyReply, answer: ErrorAnswer): FastifyReply {
  if (answer.retryAfterSeconds !== undefined)
    void reply.header("Retry-After", String(answer.retryAfterSeconds));
  return reply
    .code(answer.status)
    .header("content-type", "application/json")
    .send(JSON.stringify(errorBody(answer)));
}

/** Reads and discards the rest of a body, up to a maximum of bytes and time. */
function drain(body: Readable): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    const timer = setTimeout(done, DRAIN_MAX_MS);
    function count(chunk: Buffer): void {
      bytes += chunk.length;
      if (bytes > DRAIN_MAX_BYTES) done();
    }
    function done(): void {
      clearTimeout(timer);
      body.off("data", count).off("end", done).off("close", done);
      resolve();
    }
    body.on("data", count).on("end", done).on("close", done).resume();
  });
}

/** Answers a request that is not HTTP, is not received in time, or has oversized headers. Closes the connection. */
function answerBrokenRequest(
  error: Error & { code?: string },
  socket: Socket,
  onUnreadable: PublicListenerOptions["onUnreadable"],
): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const answer = brokenRequestAnswer(error.code);
  onUnreadable?.(answer.status);
  endWith(socket, answer);
}

/** Writes an answer directly to the socket, and closes the connection. */
function endWith(socket: Duplex, answer: ErrorAnswer): void {
  const body = JSON.stringify(errorBody(answer));
  const { error: reason = "" } = errorBody(answer);
  // Node does not handle errors of a CONNECT socket, so without this listener a reset would crash the process.
  socket.on("error", () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${answer.status} ${reason}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}

function brokenRequestAnswer(code: string | undefined): ErrorAnswer {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return ERRORS.late;
    case "HPE_HEADER_OVERFLOW":
      return ERRORS.headersTooLarge;
    default:
      return ERRORS.notHttp;
  }
}
