import { MatrixError } from "./matrix-error";
import { readBounded } from "./read-bounded";
import { readRetryAfter } from "./retry-after";
import { withTimeLimit } from "./time-limit";

/** Maximum bytes of an answer. The answers to syncs are the longest: a few kilobytes for each room. */
const ANSWER_MAX_BYTES = 64 * 1024 * 1024;
const TIMEOUT_MS = 20_000;

export interface MatrixRequest {
  readonly method: "GET" | "POST" | "PUT";
  /** Path with encoded parts: see `pathOf`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  /** JSON, or the bytes of a file. */
  readonly body?: object | SentFile;
  readonly signal?: AbortSignal | undefined;
  /** Timeout, ms; 20,000 by default. */
  readonly timeoutMs?: number;
}

export type SendRequest = <T>(request: MatrixRequest) => Promise<T>;

/** Returns a path, with each value encoded: pathOf`/_matrix/client/v3/rooms/${roomId}/leave`. */
export function pathOf(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent));
}

/**
 * Returns a function that sends one request to the homeserver, and resolves to the JSON of the answer. Rejects with
 * `MatrixError` when the homeserver answers with an error, and with an `Error` when there is no answer.
 *
 * @param token returns the access token; undefined before the login
 */
export function createRequests(homeserver: string, token: () => string | undefined): SendRequest {
  return async <T>({ method, path, query, body, signal, timeoutMs = TIMEOUT_MS }: MatrixRequest) => {
    const url = new URL(homeserver + path);
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, value);
    }
    const bearer = token();
    const sent = body && toBytes(body);
    const send = async (limited: AbortSignal): Promise<T> => {
      const response = await fetch(url, {
        method,
        redirect: "error",
        signal: limited,
        headers: {
          ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
          ...(sent !== undefined && { "content-type": sent.contentType }),
        },
        ...(sent !== undefined && { body: sent.bytes }),
      });
      const bytes = await readBounded(response.body, ANSWER_MAX_BYTES);
      if (!response.ok) throw toError(response, bytes);
      return parse(bytes) as T;
    };
    try {
      return await withTimeLimit(timeoutMs, signal, send);
    } catch (error) {
      throw error instanceof MatrixError ? error : noAnswer(error);
    }
  };
}

/** The bytes of a body, and their type. */
interface SentFile {
  readonly bytes: Buffer;
  readonly contentType: string;
}

function toBytes(body: object | SentFile): SentFile {
  if ("bytes" in body) return body;
  return { bytes: Buffer.from(JSON.stringify(body)), contentType: "application/json" };
}

/**
 * Returns the JSON value in the bytes of an answer. Bytes that are not JSON, e.g. a proxy's error page, count as an
 * unreachable homeserver.
 */
function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new Error("the answer is not JSON");
  }
}

function toError(response: Response, bytes: Buffer): MatrixError {
  let body: { errcode?: unknown; retry_after_ms?: unknown } = {};
  try {
    body = JSON.parse(bytes.toString("utf8")) as typeof body;
  } catch {
    // Proxies can answer with an HTML page. The status is then sufficient.
  }
  const errcode = typeof body?.errcode === "string" && /^\w{1,60}$/.test(body.errcode) ? body.errcode : "";
  const wait = readRetryAfter(body?.retry_after_ms, response.headers.get("retry-after"), Date.now());
  return new MatrixError(response.status, errcode, wait);
}

/** Returns an error with the reason for the missing answer. The error never contains a part of the request. */
function noAnswer(error: unknown): Error {
  const { name, message, cause } = error as Error & { cause?: { code?: string; message?: string } };
  const why = name === "TimeoutError" ? "no answer in time" : (cause?.code ?? cause?.message ?? message);
  return new Error(`cannot reach the homeserver: ${why}`);
}
