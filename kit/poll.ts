import { REAL_TIMING, retryAfterMs, type Timing } from "./back-off";
import { readError, refusedBy } from "./error-body";
import { exchange, hooksUrl, isRetried } from "./http-exchange";
import { readPage, type PageReading } from "./read-event";
import { secretsOfOne, type Secrets } from "./secrets";
import { explainFault, sign, SIGNATURE_HEADER, verify } from "./signature";

/** Thrown when the service rejects a poll, and the status means that another poll would not help. */
export class PollRefused extends Error {
  override readonly name = "PollRefused";
  constructor(
    /**
     * The HTTP status: 400, 401, 403 (a target URL is set), 404 or 409 (bridge guide, "Errors"), or another status from
     * a proxy.
     */
    readonly status: number,
    /** The invalid query parameter, if the service named one. */
    readonly field: string | undefined,
    message: string,
  ) {
    super(refusedBy(status, message));
  }
}

/** The error of a poll that returned no page. Another poll may succeed. */
export class PollFailed extends Error {
  override readonly name = "PollFailed";
}

export interface PollOptions {
  /** The service's base address, such as `https://games.example`. */
  readonly baseUrl: string;
  /** UUID of the workspace, from the dashboard. */
  readonly workspaceId: string;
  readonly secrets: Secrets;
  /** Maximum number of events per page, 1 to 100. */
  readonly limit?: number;
  /** Timeout of a poll, ms; 30,000 by default. */
  readonly timeoutMs?: number;
  readonly timing?: Timing;
}

/** A page, or the reason why there is no page. `notForMs` is the service's `Retry-After` in ms; 0 for none. */
export type Polled = PageReading | { readonly problem: string; readonly notForMs: number };

/**
 * Maximum length of a page, bytes: about five times the length of the largest page of the service, which contains 100
 * events of 64 KB.
 */
const PAGE_MAX_BYTES = 32 * 1024 * 1024;

/**
 * Returns a function that makes one poll (`GET /hooks/{workspaceId}/events`) and checks the page's signature. The
 * function rejects with `PollRefused` when another poll would not help.
 *
 * @throws RangeError or TypeError when an option is invalid
 */
export function createPoll(
  options: PollOptions,
): (after: string | undefined, signal: AbortSignal) => Promise<Polled> {
  const { workspaceId, limit, timeoutMs = 30_000, timing = REAL_TIMING } = options;
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= 100)) {
    throw new RangeError("limit must be an integer from 1 to 100");
  }
  const url = `${hooksUrl(options.baseUrl, workspaceId)}/events`;
  const secretsOf = secretsOfOne(options.secrets, workspaceId);
  const failed = (problem: string, notForMs = 0): Polled => ({ problem, notForMs });

  return async (after, signal) => {
    const query = [
      ...(after === undefined ? [] : [`after=${after}`]),
      ...(limit === undefined ? [] : [`limit=${limit}`]),
    ].join("&");
    const secrets = await secretsOf();
    const answer = await exchange({
      url: query === "" ? url : `${url}?${query}`,
      method: "GET",
      headers: { [SIGNATURE_HEADER]: sign(query, secrets, timing.now()) },
      timeoutMs,
      answerMaxBytes: PAGE_MAX_BYTES,
      signal,
    });
    if ("failed" in answer) return failed(`the poll got no answer: ${answer.why}`);
    const { status, headers, body } = answer;
    if (isRetried(status)) {
      const notForMs = retryAfterMs(headers.get("retry-after"), timing.now());
      return failed(`the service answered with ${status}`, notForMs);
    }
    if (status !== 200) {
      const { message, field } = readError(body);
      throw new PollRefused(status, field, message);
    }
    const signature = headers.get(SIGNATURE_HEADER);
    const nowMs = timing.now();
    const fault = verify(signature, body, secrets, nowMs);
    if (fault !== undefined) return failed(`a page was dropped: ${explainFault(fault, signature, nowMs)}`);
    const page = readPage(body);
    return page === undefined ? failed("an answer was dropped, because it is not a page of events") : page;
  };
}
