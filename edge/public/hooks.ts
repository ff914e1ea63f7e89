import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ERRORS } from "../../contract/errors";
import { BODY_MAX_BYTES } from "../../contract/numbers";
import { EdgeRefusal, Refusal, type Refused } from "../../proto/gen/chatbridge/v1/bridge";
import type { CoreClient } from "../lane/core-client";
import type { Span, Tracer } from "../../runtime/tracing/tracer";
import { UNAVAILABLE } from "./error-body";
import { jsonFault } from "./json-fault";
import { sendError } from "./public-listener";
import { readInboundEvent } from "./read-inbound-event";
import { readJson } from "./read-json";
import { readPollQuery } from "./read-poll-query";
import type { RefusalReports } from "./refusal-reports";
import { refusalAnswer } from "./refusal-answer";
import { canonicalAddress } from "./source-address";
import type { UnsentPages } from "./unsent-pages";

const SIGNATURE_HEADER = "service-signature";
/**
 * The edge replaces the Content-Type of every request with this type. Fastify caches the parser of a named type; with a
 * parser for "*", Fastify would parse the Content-Type header of every request.
 */
const ANY_TYPE = "application/octet-stream";
const ACCEPTED_BODY = '{"ok":true}';
const ACCEPTED_HEADERS = [
  "content-type",
  "application/json; charset=utf-8",
  "content-length",
  String(ACCEPTED_BODY.length),
];

/** The names of the spans. */
const POST = "POST /hooks/{workspaceId}";
const POLL = "GET /hooks/{workspaceId}/events";

/** The reasons for which core refuses a request although its signature is valid. */
const SIGNED: ReadonlySet<Refusal> = new Set([
  Refusal.WORKSPACE_LIMIT,
  Refusal.INVALID,
  Refusal.PUSH_WORKSPACE,
]);

type HooksRequest = FastifyRequest<{ Params: { workspaceId: string } }>;

/** Adds the two endpoints of the public contract. Without a tracer, requests are not traced. */
export function addHooks(
  app: FastifyInstance,
  core: CoreClient,
  unsent: UnsentPages,
  refusals: RefusalReports,
  tracer: Tracer | undefined,
): void {
  readBodiesAsBytes(app);

  app.addHook("onError", (request, _reply, error, done) => {
    if (error.statusCode === ERRORS.tooLarge.status) {
      const bytes = Number(request.headers["content-length"]);
      const sample = Number.isSafeInteger(bytes) ? { bytes } : {};
      reportRefusal(refusals, request as HooksRequest, EdgeRefusal.TOO_LARGE, () => sample);
    }
    done();
  });

  app.post("/hooks/:workspaceId", async (request: HooksRequest, reply) => {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const json = readJson(body); // check 1 in docs/checks.md
    if (json === undefined) {
      reportRefusal(refusals, request, EdgeRefusal.NOT_JSON, () => ({ message: jsonFault(body) }));
      return sendError(reply, ERRORS.notJson);
    }
    const reading = readInboundEvent(json.value); // check 7 in docs/checks.md; core reports a violation after check 6
    const { workspaceId, sourceAddress, signature } = caller(request);
    const span = tracer?.start(POST, "server", traceparent(request));
    const { outcome } = await core.receive(
      { workspaceId, sourceAddress, signature, body, reading },
      span?.traceparent,
    );
    if (outcome?.$case === "refused") {
      const answer = refusalAnswer(outcome.value);
      if (span) endSpan(span, POST, workspaceId, answer.status, outcome.value);
      return sendError(reply, answer);
    }
    if (span) endSpan(span, POST, workspaceId, 202);
    sendPastFastify(reply, 202, ACCEPTED_HEADERS, ACCEPTED_BODY);
  });

  app.get("/hooks/:workspaceId/events", async (request: HooksRequest, reply) => {
    const queryString = rawQuery(request);
    const { workspaceId: asked, sourceAddress, signature } = caller(request);
    const span = tracer?.start(POLL, "server", traceparent(request));
    const reading = readPollQuery(queryString);
    const { outcome } = await core.poll(
      { workspaceId: asked, sourceAddress, signature, queryString, reading },
      span?.traceparent,
    );
    if (outcome?.$case === "refused") {
      const answer = refusalAnswer(outcome.value);
      if (span) endSpan(span, POLL, asked, answer.status, outcome.value);
      return sendError(reply, answer);
    }
    if (outcome === undefined) throw new Error("core's answer to a poll has no outcome");
    const { body, workspaceId, signature: pageSignature } = outcome.value;
    const owner = { workspaceId, address: sourceAddress };
    const hasRoom = unsent.add(reply.raw, body.length, owner);
    if (span) endSpan(span, POLL, workspaceId, hasRoom ? 200 : UNAVAILABLE.status);
    if (!hasRoom) return sendError(reply, UNAVAILABLE);
    const headers = [
      "service-signature",
      pageSignature,
      "service-workspace",
      workspaceId,
      "content-type",
      "application/json",
      "content-length",
      String(body.length),
    ];
    sendPastFastify(reply, 200, headers, body);
  });
}

/** Makes the app read each body as bytes, whatever its Content-Type or Content-Encoding says: nothing is decompressed (gzip). */
function readBodiesAsBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    ANY_TYPE,
    { parseAs: "buffer", bodyLimit: BODY_MAX_BYTES },
    (_request, body, done) => done(null, body),
  );
  app.addHook("onRequest", (request, _reply, done) => {
    request.headers["content-type"] = ANY_TYPE;
    done();
  });
}

/** Reports a post that is refused without calling core. */
function reportRefusal(
  refusals: RefusalReports,
  request: HooksRequest,
  reason: EdgeRefusal,
  sample: () => { readonly message?: string; readonly bytes?: number },
): void {
  const { workspaceId, sourceAddress } = caller(request);
  refusals.add(workspaceId, reason, sourceAddress, () => ({ isPoll: false, ...sample() }));
}

/**
 * Returns the parts of a request that core needs to check the caller. Node joins repeated headers, so two signatures
 * become one malformed signature.
 */
function caller(request: HooksRequest) {
  const signature = request.headers[SIGNATURE_HEADER];
  return {
    workspaceId: request.params.workspaceId,
    sourceAddress: canonicalAddress(request.ip, request.socket.remoteAddress),
    signature: typeof signature === "string" ? signature : undefined,
  };
}

/** Returns the context of the trace that the request continues. */
function traceparent({ headers }: FastifyRequest): string | undefined {
  return typeof headers["traceparent"] === "string" ? headers["traceparent"] : undefined;
}

/**
 * Ends the span of a request whose signature core accepted. The span of any other request is dropped, so that only
 * bridges with a secret can cause exports.
 */
function endSpan(
  span: Span,
  name: typeof POST | typeof POLL,
  workspaceId: string,
  status: number,
  refused?: Refused,
): void {
  if (refused !== undefined && !SIGNED.has(refused.refusal)) return;
  const [method = "", route = ""] = name.split(" ");
  span.end({
    "http.request.method": method,
    "http.route": route,
    "http.response.status_code": status,
    "chatbridge.workspace.id": workspaceId,
  });
}

/** Returns the query string: everything after the first "?" of the URL, exactly as sent. */
function rawQuery(request: FastifyRequest): string {
  const url = request.raw.url ?? "";
  const at = url.indexOf("?");
  return at < 0 ? "" : url.slice(at + 1);
}

/**
 * Sends an answer without Fastify's serialization and without its onSend hooks, which this app does not use. The
 * onResponse hooks and the listeners of the raw response still run. Throws when a header is invalid; Fastify then
 * answers with 500.
 * @param headers alternating names and values
 */
function sendPastFastify(
  reply: FastifyReply,
  status: number,
  headers: string[],
  body: Uint8Array | string,
): void {
  reply.raw.writeHead(status, headers);
  reply.hijack();
  reply.raw.end(body);
}
