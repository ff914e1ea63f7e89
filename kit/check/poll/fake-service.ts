import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { BODY_MAX_BYTES, PAGE_MAX_EVENTS } from "../../../contract/numbers";
import { readBody } from "../../read-body";
import { SIGNATURE_HEADER } from "../../signature";
import { errorAnswer, type PollAnswer } from "./poll-answer";
import { valuesOf, type PollRequest } from "./poll-request";

/** An address to listen at. */
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

/**
 * Starts a server that answers polls with `onPoll`, and events with `onPost`. Requests with another path or workspace
 * are answered with 404, and reported to `onElsewhere`. Rejects with the error of `listen`.
 */
export async function startFakeService(options: {
  readonly workspace: string;
  readonly listen: ListenAddress;
  onPoll(poll: PollRequest): Promise<PollAnswer>;
  onPost(body: Buffer, signature: string | undefined): PollAnswer;
  onElsewhere(request: string): void;
}): Promise<FakeService> {
  const { workspace, listen, onPoll, onPost, onElsewhere } = options;
  const path = `/hooks/${workspace.toLowerCase()}`;

  async function answer(request: IncomingMessage): Promise<PollAnswer> {
    const { method = "", url = "" } = request;
    const [before = ""] = url.split("?", 1);
    const signature = request.headers[SIGNATURE_HEADER.toLowerCase()]?.toString();
    if (method === "GET" && before.toLowerCase() === `${path}/events`) return onPoll(pollOf(url, signature));
    if (method === "POST" && before.toLowerCase() === path) {
      const body = await readBody(request, { maxBytes: BODY_MAX_BYTES, withinMs: BODY_WITHIN_MS });
      if (typeof body !== "string") return onPost(Buffer.from(body), signature);
      return errorAnswer(413, "the body is longer than 64 KB, or is incomplete");
    }
    onElsewhere(`${method} ${before}`);
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
    server.listen(listen.port ?? 0, listen.host ?? "127.0.0.1", resolve);
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
