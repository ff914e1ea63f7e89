import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { BODY_MAX_BYTES, PAGE_MAX_EVENTS } from "../../../contract/numbers";
import { errorBody } from "../../error-body";
import { readBody } from "../../read-body";
import { sign, SIGNATURE_HEADER } from "../../signature";
import { valuesOf, type PollRequest } from "./poll-log";

/** An answer of the fake service. */
export interface PollAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Number of bytes of the body after which the service closes the connection; undefined for a complete answer. */
  readonly breaksAfter?: number;
}

/** Serializes a page as JSON. */
export type WritePage = (page: object) => string;

/** The content of a page, except its cursor. */
export interface PageContent {
  readonly events: readonly object[];
  /** True by default. */
  readonly hasMore?: boolean;
  /** False by default. */
  readonly gap?: boolean;
  /** Additional fields of the page. */
  readonly more?: object;
  /** Serializes the page; `JSON.stringify` by default. */
  readonly write?: WritePage;
  /** Returns the signature header, or null for none. By default, a valid header with the current time. */
  readonly signed?: (body: Buffer) => string | null;
}

/** Returns the answer with a page. */
export function pageAnswer(
  { events, hasMore = true, gap = false, more, write = JSON.stringify, signed }: PageContent,
  next: string | null,
  { workspace, secrets }: { readonly workspace: string; readonly secrets: readonly string[] },
): PollAnswer {
  const body = Buffer.from(write({ events, next, hasMore, gap, ...more }));
  const signature = signed === undefined ? sign(body, secrets) : signed(body);
  return {
    status: 200,
    headers: {
      "Content-Type": "application/json",
      "Service-Workspace": workspace,
      ...(signature === null ? {} : { [SIGNATURE_HEADER]: signature }),
    },
    body,
  };
}

/** Returns an answer with an error body. */
export function errorAnswer(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): PollAnswer {
  const body = Buffer.from(errorBody(status, message));
  return { status, headers: { "Content-Type": "application/json", ...headers }, body };
}

/** An address to listen on. */
export interface ListenAddress {
  /** A loopback address; 127.0.0.1 by default. */
  readonly host?: string;
  /** 0, the default, chooses a free port. */
  readonly port?: number;
}

/** An HTTP server with the service's two endpoints, for one workspace. */
export interface FakeService {
  /** Base address of the service. */
  readonly url: URL;
  /** Stops listening, and closes all connections. */
  close(): Promise<void>;
}

const CONNECTIONS_MOST = 64;
const BODY_WITHIN_MS = 10_000;

/** The functions that answer the bridge's requests. */
export interface RequestHandler {
  readonly workspace: string;
  onPoll(poll: PollRequest): Promise<PollAnswer>;
  onPost(body: Buffer, signature: string | undefined): PollAnswer;
  /** Called for a request with a different path or workspace, which is answered with 404. */
  onElsewhere(request: string): void;
}

/** Starts the server. Rejects with the error of `listen`. */
export async function startFakeService(
  handler: RequestHandler,
  { host = "127.0.0.1", port: wanted = 0 }: ListenAddress = {},
): Promise<FakeService> {
  const path = `/hooks/${handler.workspace.toLowerCase()}`;

  async function answer(request: IncomingMessage): Promise<PollAnswer> {
    const { method = "", url = "" } = request;
    const [before = ""] = url.split("?", 1);
    const signature = request.headers[SIGNATURE_HEADER.toLowerCase()]?.toString();
    if (method === "GET" && before.toLowerCase() === `${path}/events`)
      return handler.onPoll(pollOf(url, signature));
    if (method === "POST" && before.toLowerCase() === path) {
      const body = await readBody(request, { maxBytes: BODY_MAX_BYTES, withinMs: BODY_WITHIN_MS });
      if (typeof body !== "string") return handler.onPost(Buffer.from(body), signature);
      return errorAnswer(413, "the body is longer than 64 KB, or is incomplete");
    }
    handler.onElsewhere(`${method} ${before}`);
    return errorAnswer(404, "no such workspace");
  }

  const server = createServer((request, response) => {
    answer(request).then(
      (answered) => send(response, answered),
      () => send(response, errorAnswer(500, "the check failed")),
    );
  });
  server.maxConnections = CONNECTIONS_MOST;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(wanted, host, resolve);
  });
  const { address, port, family } = server.address() as AddressInfo;
  return {
    url: new URL(`http://${family === "IPv6" ? `[${address}]` : address}:${port}`),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function pollOf(target: string, signature: string | undefined): PollRequest {
  const at = target.indexOf("?");
  const query = at === -1 ? "" : target.slice(at + 1);
  const parameters = [...new URLSearchParams(query)];
  const [after] = valuesOf({ parameters }, "after");
  const limit = Number(valuesOf({ parameters }, "limit")[0]);
  return {
    target,
    query,
    parameters,
    after,
    limit: limit >= 1 && limit <= PAGE_MAX_EVENTS ? Math.floor(limit) : PAGE_MAX_EVENTS,
    signature,
    atMs: performance.now(),
    nowMs: Date.now(),
  };
}

function send(response: ServerResponse, { status, headers, body, breaksAfter }: PollAnswer): void {
  if (breaksAfter === 0) return void response.destroy();
  response.writeHead(status, { ...headers, "Content-Length": String(body.length) });
  if (breaksAfter === undefined) return void response.end(body);
  response.write(body.subarray(0, breaksAfter), () => response.destroy());
}
