import type { IncomingMessage, ServerResponse } from "node:http";
import { ERRORS } from "../../contract/errors";
import { EdgeRefusal, Refusal, type Refused, type SignedPage } from "../../proto/gen/chatbridge/v1/bridge";
import type { Span, Tracer } from "../../runtime/tracing/tracer";
import type { CoreClient } from "../lane/core-client";
import { CoreUnavailable } from "../lane/core-unavailable";
import { answer, answerError } from "./answer";
import { UNAVAILABLE } from "./error-body";
import { jsonFault } from "./json-fault";
import { readInboundEvent } from "./read-inbound-event";
import { readJson } from "./read-json";
import { readPollQuery } from "./read-poll-query";
import { refusalAnswer } from "./refusal-answer";
import type { RefusalReports } from "./refusal-reports";
import type { UnsentPages } from "./unsent-pages";

const SIGNATURE_HEADER = "service-signature";
const ACCEPTED_BODY = '{"ok":true}';
const ACCEPTED_HEADERS = [
  "content-type",
  "application/json; charset=utf-8",
  "content-length",
  String(ACCEPTED_BODY.length),
];

const NO_BYTES = new Uint8Array(0);

/** The names of the spans. */
const POST = "POST /hooks/{workspaceId}";
const POLL = "GET /hooks/{workspaceId}/events";

/** The reasons for which core refuses a request although its signature is valid. */
const SIGNED: ReadonlySet<Refusal> = new Set([
  Refusal.WORKSPACE_LIMIT,
  Refusal.INVALID,
  Refusal.PUSH_WORKSPACE,
]);

/** A request for one of the two endpoints. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The decoded path segment. */
  readonly workspaceId: string;
  /** The sender's address, in canonical form. */
  readonly sourceAddress: string;
}

export interface HooksOptions {
  readonly core: CoreClient;
  readonly unsent: UnsentPages;
  readonly refusals: RefusalReports;
  /** Without a tracer, requests are not traced. */
  readonly tracer: Tracer | undefined;
  /** Is called with errors that are bugs. */
  report(where: string, error: unknown): void;
}

/**
 * Answers the requests for the two endpoints of the public contract. Writes to Node's own responses, because Fastify does
 * not see the usual requests (see `answerUsualRequests`).
 */
export class Hooks {
  readonly #options: HooksOptions;

  constructor(options: HooksOptions) {
    this.#options = options;
  }

  /** Answers a POST. */
  async post(exchange: Exchange, body: Buffer): Promise<void> {
    try {
      await this.#receive(exchange, body);
    } catch (error) {
      this.#fail(exchange, "/hooks/:workspaceId", error);
    }
  }

  /** Answers a poll. */
  async poll(exchange: Exchange): Promise<void> {
    try {
      await this.#page(exchange);
    } catch (error) {
      this.#fail(exchange, "/hooks/:workspaceId/events", error);
    }
  }

  /** Reports a POST that the edge refuses without calling core. */
  reportRefusal(
    { workspaceId, sourceAddress }: Exchange,
    reason: EdgeRefusal,
    sample: () => { readonly message?: string; readonly bytes?: number },
  ): void {
    const { refusals } = this.#options;
    refusals.add(workspaceId, reason, sourceAddress, () => ({ isPoll: false, ...sample() }));
  }

  async #receive(exchange: Exchange, body: Buffer): Promise<void> {
    const { core, tracer } = this.#options;
    const { request, response, workspaceId, sourceAddress } = exchange;
    const json = readJson(body); // check 1 in docs/checks.md
    if (json === undefined) {
      this.reportRefusal(exchange, EdgeRefusal.NOT_JSON, () => ({ message: jsonFault(body) }));
      return answerError(response, ERRORS.notJson);
    }
    const reading = readInboundEvent(json.value); // check 7 in docs/checks.md; core reports a violation after check 6
    const signature = signatureOf(request);
    const span = tracer?.start(POST, "server", traceparent(request));
    const { outcome } = await core.receive(
      { workspaceId, sourceAddress, signature, body, reading },
      span?.traceparent,
    );
    if (outcome?.$case === "refused") return refuse(exchange, POST, span, outcome.value);
    if (span) endSpan(span, POST, workspaceId, 202);
    answer(response, 202, ACCEPTED_HEADERS, ACCEPTED_BODY);
  }

  async #page(exchange: Exchange): Promise<void> {
    const { core, tracer } = this.#options;
    const { request, workspaceId, sourceAddress } = exchange;
    const queryString = rawQuery(request);
    const signature = signatureOf(request);
    const span = tracer?.start(POLL, "server", traceparent(request));
    const reading = readPollQuery(queryString);
    const { outcome } = await core.poll(
      { workspaceId, sourceAddress, signature, queryString, reading },
      span?.traceparent,
    );
    if (outcome === undefined) throw new Error("core's answer to a poll has no outcome");
    if (outcome.$case === "refused") return refuse(exchange, POLL, span, outcome.value);
    this.#sendPage(exchange, outcome.value, span);
  }

  #sendPage({ response, sourceAddress }: Exchange, page: SignedPage, span: Span | undefined): void {
    const { body, workspaceId, signature } = page;
    // The promises of this request can already be in V8's old generation, where they stay until a full garbage collection.
    // The promises must not keep the bytes of the page in memory until then.
    page.body = NO_BYTES;
    const hasRoom = this.#options.unsent.add(response, body.length, { workspaceId, address: sourceAddress });
    if (span) endSpan(span, POLL, workspaceId, hasRoom ? 200 : UNAVAILABLE.status);
    if (!hasRoom) return answerError(response, UNAVAILABLE);
    const headers = [
      "service-signature",
      signature,
      "service-workspace",
      workspaceId,
      "content-type",
      "application/json",
      "content-length",
      String(body.length),
    ];
    answer(response, 200, headers, body);
  }

  #fail({ response }: Exchange, route: string, error: unknown): void {
    if (error instanceof CoreUnavailable) return answerError(response, UNAVAILABLE);
    this.#options.report(route, error);
    if (response.headersSent) response.destroy();
    else answerError(response, ERRORS.internal);
  }
}

/** Answers a request that core has refused. */
function refuse(
  { response, workspaceId }: Exchange,
  name: typeof POST | typeof POLL,
  span: Span | undefined,
  refused: Refused,
): void {
  const error = refusalAnswer(refused);
  if (span) endSpan(span, name, workspaceId, error.status, refused);
  answerError(response, error);
}

/** Returns the signature. Node joins repeated headers, so two signatures become one malformed signature. */
function signatureOf({ headers }: IncomingMessage): string | undefined {
  const signature = headers[SIGNATURE_HEADER];
  return typeof signature === "string" ? signature : undefined;
}

/** Returns the context of the trace that the request continues. */
function traceparent({ headers }: IncomingMessage): string | undefined {
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
function rawQuery({ url = "" }: IncomingMessage): string {
  const at = url.indexOf("?");
  return at < 0 ? "" : url.slice(at + 1);
}
