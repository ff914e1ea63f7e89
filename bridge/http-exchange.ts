import { TIMER_MOST_MS } from "./back-off";

/** An answer with its exact bytes. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Why there is no answer. The request may have been acted on all the same. */
export type NoAnswer = "timeout" | "connection" | "aborted";

export interface ExchangeRequest {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** For everything, to the last byte of the answer. */
  readonly timeoutMs: number;
  /** A longer answer counts as a dropped connection. */
  readonly answerMaxBytes: number;
  readonly signal: AbortSignal;
}

/** One request and its whole answer. Redirects are answers: a signature is for one address. */
export async function exchange(request: ExchangeRequest): Promise<Answer | { readonly failed: NoAnswer }> {
  const { url, method, headers, timeoutMs, answerMaxBytes, signal } = request;
  if (signal.aborted) return { failed: "aborted" };
  const end = new AbortController();
  let isLate = false;
  const timer = setTimeout(
    () => {
      isLate = true;
      end.abort();
    },
    Math.min(timeoutMs, TIMER_MOST_MS),
  );
  // Not AbortSignal.any: what it makes may live as long as the signal it hangs on, here the whole process.
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
  } catch {
    if (signal.aborted) return { failed: "aborted" };
    return { failed: isLate ? "timeout" : "connection" };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

async function readWhole({ body }: Response, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop by an error cancels the body, and with it the connection.
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error("the answer is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const NO_URL = { protocol: "", origin: "", pathname: "" };

/** The address of a workspace's endpoint under a base address, which may have a path of its own. */
export function hooksUrl(baseUrl: string, workspaceId: string): string {
  const { protocol, origin, pathname } = URL.canParse(baseUrl) ? new URL(baseUrl) : NO_URL;
  if (protocol !== "https:" && protocol !== "http:") {
    throw new TypeError(
      `baseUrl must be an http(s) address, such as https://games.example, not "${baseUrl}"`,
    );
  }
  return `${origin}${pathname.replace(/\/+$/, "")}/hooks/${encodeURIComponent(workspaceId)}`;
}

/** Whether an answer asks for the same request again: a `429` or a `5xx`, and never another `4xx`. */
export function isRetried(status: number): boolean {
  return status === 429 || status >= 500;
}
