import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { rootCertificates } from "node:tls";

/** An answer, with its exact bytes, or in words why there is none. */
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
  /** There was not even a connection: nothing was sent. */
  readonly isUnreached: boolean;
  readonly ms: number;
}

export interface Call {
  readonly method: "GET" | "POST";
  /** With its query; it goes out exactly as it is. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

export interface ClientOptions {
  /** Certificates to trust beside the usual ones, in PEM. */
  readonly ca?: string;
  /** Trust any certificate of a loopback address. */
  readonly insecureLoopback?: boolean;
  /** For everything, to the last byte of the answer. */
  readonly timeoutMs: number;
}

/** Calls one origin. */
export interface HttpClient {
  call(call: Call): Promise<Reply>;
  close(): void;
}

const ANSWER_MAX_BYTES = 32 * 1024 * 1024;
const CERTIFICATE_CODE = /CERT|SIGNATURE|ISSUER/;
const CONNECTIONS_MOST = 64;

/**
 * A client that changes nothing of what it sends, follows no redirect and takes no
 * part in any pool of the process: what the kit's own requests, made by `fetch`,
 * cannot promise.
 */
export function createHttpClient(origin: URL, options: ClientOptions): HttpClient {
  const isTls = origin.protocol === "https:";
  const pool = { keepAlive: true, maxSockets: CONNECTIONS_MOST };
  const agent = isTls ? new HttpsAgent({ ...pool, ...trustOf(origin, options) }) : new HttpAgent(pool);
  const request = isTls ? httpsRequest : httpRequest;
  function call({ method, path, headers, body }: Call): Promise<Reply> {
    const begun = performance.now();
    const ms = () => Math.round(performance.now() - begun);
    return new Promise((resolve) => {
      const length = body === undefined ? {} : { "Content-Length": String(body.length) };
      const url = new URL(origin.origin);
      const sent = request(url, { method, path, headers: { ...headers, ...length }, agent });
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
        // The other side ended an idle connection just then, as it may: nobody has seen the request.
        if (sent.reusedSocket && error.code === "ECONNRESET") {
          clearTimeout(timer);
          return resolve(call({ method, path, headers, ...(body === undefined ? {} : { body }) }));
        }
        fail(`the connection failed: ${wordsOf(error)}`);
      });
      sent.on("response", (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > ANSWER_MAX_BYTES) fail("the answer is over 32 MB long");
          else chunks.push(chunk);
        });
        response.on("error", () => fail("the connection broke within the answer"));
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

/** Whether an address is this machine's own, by its name. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}

function trustOf(origin: URL, { ca, insecureLoopback }: ClientOptions): object {
  if (insecureLoopback === true && isLoopback(origin)) return { rejectUnauthorized: false };
  return ca === undefined ? {} : { ca: [...rootCertificates, ca] };
}

function wordsOf({ code = "", message }: NodeJS.ErrnoException): string {
  const words = message === "" ? code : message;
  return CERTIFICATE_CODE.test(code) ? `${words} (give --ca for a certificate of your own)` : words;
}
