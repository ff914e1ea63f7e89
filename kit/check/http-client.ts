import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { rootCertificates } from "node:tls";

/** An answer with the exact bytes of its body, or the reason why there is no answer. */
export type Reply =
  | {
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      readonly body: Buffer;
      readonly ms: number;
    }
  | NoReply;

export interface NoReply {
  readonly failed: string;
  /** True if the client could not connect, and therefore sent nothing. */
  readonly isUnreached: boolean;
  readonly ms: number;
}

export interface Call {
  readonly method: "GET" | "POST";
  /** Path and query, sent unchanged. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** When this signal is aborted, the exchange fails. */
  readonly signal?: AbortSignal;
}

export interface ClientOptions {
  /** PEM certificates to trust in addition to Node's root certificates. */
  readonly ca?: string;
  /** Whether to trust any certificate of a loopback address. */
  readonly insecureLoopback?: boolean;
  /** Time limit for the whole exchange, up to the last byte of the answer, ms. */
  readonly timeoutMs: number;
}

/** An HTTP client for one origin. */
export interface HttpClient {
  call(call: Call): Promise<Reply>;
  close(): void;
}

const ANSWER_MAX_BYTES = 32 * 1024 * 1024;
const CERTIFICATE_CODE = /CERT|SIGNATURE|ISSUER/;
const CONNECTIONS_MOST = 64;

/**
 * Makes a client that sends requests unchanged, follows no redirects and has its own
 * connection pool. The rest of the kit uses `fetch`, which can change a path and
 * uses one connection pool for the whole process.
 */
export function createHttpClient(origin: URL, options: ClientOptions): HttpClient {
  const isTls = origin.protocol === "https:";
  const pool = { keepAlive: true, maxSockets: CONNECTIONS_MOST };
  const agent = isTls ? new HttpsAgent({ ...pool, ...trustOf(origin, options) }) : new HttpAgent(pool);
  const request = isTls ? httpsRequest : httpRequest;
  function call(what: Call): Promise<Reply> {
    const { method, path, headers, body, signal } = what;
    const begun = performance.now();
    const ms = () => Math.round(performance.now() - begun);
    return new Promise((resolve) => {
      const length = body === undefined ? {} : { "Content-Length": String(body.length) };
      const url = new URL(origin.origin);
      const sent = request(url, {
        method,
        path,
        headers: { ...headers, ...length },
        agent,
        ...(signal === undefined ? {} : { signal }),
      });
      let isUnreached = true;
      sent.on("socket", (socket) => {
        if (socket.connecting) socket.once("connect", () => (isUnreached = false));
        else isUnreached = false;
      });
      const fail = (failed: string) => {
        clearTimeout(timer);
        resolve({ failed, isUnreached, ms: ms() });
        sent.destroy();
      };
      const timer = setTimeout(() => {
        fail(
          `there was no ${isUnreached ? "connection" : "answer"} within ${options.timeoutMs / 1000} seconds`,
        );
      }, options.timeoutMs);
      sent.on("error", (error: NodeJS.ErrnoException) => {
        // The server closed the idle connection without processing the request, so the request is sent again.
        if (sent.reusedSocket && error.code === "ECONNRESET") {
          clearTimeout(timer);
          return resolve(call(what));
        }
        fail(`the connection failed: ${wordsOf(error)}`);
      });
      sent.on("response", (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > ANSWER_MAX_BYTES) fail("the answer is longer than 32 MB");
          else chunks.push(chunk);
        });
        response.on("error", () => fail("the connection broke during the answer"));
        response.on("end", () => {
          clearTimeout(timer);
          const { statusCode: status = 0, headers: answered } = response;
          resolve({ status, headers: answered, body: Buffer.concat(chunks), ms: ms() });
        });
      });
      sent.end(body);
    });
  }

  return {
    call,
    close() {
      agent.destroy();
    },
  };
}

/** Returns the beginning of an answer's body, on one line; empty if there is no body. */
export function excerpt(body: Buffer): string {
  return body.toString("utf8", 0, 200).replaceAll(/\s+/g, " ").trim();
}

/** Returns whether the host of a URL is a loopback name or address. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}

function trustOf(origin: URL, { ca, insecureLoopback }: ClientOptions): object {
  if (insecureLoopback === true && isLoopback(origin)) return { rejectUnauthorized: false };
  return ca === undefined ? {} : { ca: [...rootCertificates, ca] };
}

function wordsOf({ code = "", message }: NodeJS.ErrnoException): string {
  const words = message === "" ? code : message;
  return CERTIFICATE_CODE.test(code) ? `${words} (give --ca to trust your own certificate)` : words;
}
