import { TIMER_MOST_MS } from "./back-off";
import { connectionFault } from "./connection-fault";

/** An HTTP answer with the exact bytes of its body. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** The reason why there is no answer. The server may still have processed the request. */
export type NoAnswer = "timeout" | "connection" | "aborted";

/** A failed exchange. */
export interface Failed {
  readonly failed: NoAnswer;
  /**
   * Human-readable reason, such as the name of an unknown host. Never contains a part of the request or of the answer.
   */
  readonly why: string;
}

export interface ExchangeRequest {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Time limit for the whole exchange, up to the last byte of the answer, ms. */
  readonly timeoutMs: number;
  /** Maximum length of the answer's body, bytes. A longer answer counts as a dropped connection. */
  readonly answerMaxBytes: number;
  readonly signal: AbortSignal;
}

/**
 * Sends one request and reads its whole answer. Follows no redirects, because a signed request is meant for one
 * address.
 */
export async function exchange(request: ExchangeRequest): Promise<Answer | Failed> {
  const { url, method, headers, timeoutMs, answerMaxBytes, signal } = request;
  if (signal.aborted) return ABORTED;
  const end = new AbortController();
  let isLate = false;
  const timer = setTimeout(
    () => {
      isLate = true;
      end.abort();
    },
    Math.min(timeoutMs, TIMER_MOST_MS),
  );
  // `AbortSignal.any` is not used, because its result may stay in memory as long as `signal`, i.e. as long as the
  // process.
  const onAbort = () => end.abort();
  signal.addEventListener("abort", onAbort);
  try {
    const response = await fetch(url, {
      method,
      headers,
      redirect: "manual",
      signal: end.signal,
      ...(request.body === undefined ? {} : { body: request.body }),
    });
    const body = await readWhole(response, answerMaxBytes);
    return { status: response.status, headers: response.headers, body };
  } catch (error) {
    if (signal.aborted) return ABORTED;
    if (isLate)
      return { failed: "timeout", why: `timeout: there was no answer within ${timeoutMs / 1000} seconds` };
    return { failed: "connection", why: error instanceof TooLong ? error.message : connectionFault(error) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

const ABORTED: Failed = { failed: "aborted", why: "the request was aborted" };

class TooLong extends Error {}

async function readWhole({ body }: Response, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // An error in the loop cancels the body, which closes the connection.
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new TooLong(`the answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const NO_URL = { protocol: "", origin: "", pathname: "" };

/**
 * Returns the address of a workspace's endpoint. `baseUrl` may have a path.
 *
 * @throws TypeError when `baseUrl` is not an http(s) address
 */
export function hooksUrl(baseUrl: string, workspaceId: string): string {
  const { protocol, origin, pathname } = URL.canParse(baseUrl) ? new URL(baseUrl) : NO_URL;
  if (protocol !== "https:" && protocol !== "http:") {
    throw new TypeError(
      `baseUrl must be an http(s) address, such as https://games.example, not "${baseUrl}"`,
    );
  }
  return `${origin}${pathname.replace(/\/+$/, "")}/hooks/${encodeURIComponent(workspaceId)}`;
}

/**
 * Returns whether a request should be retried after an answer with `status`: true for `429` and `5xx`, false for any
 * other status.
 */
export function isRetried(status: number): boolean {
  return status === 429 || status >= 500;
}
