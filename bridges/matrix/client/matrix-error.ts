import { CannotShow } from "chat-bridge-kit";

/**
 * An answer of the homeserver that reports an error. The error's message never contains a token, or text that members
 * wrote.
 */
export class MatrixError extends Error {
  override readonly name = "MatrixError";

  constructor(
    readonly status: number,
    /** The code of the error, e.g. `M_FORBIDDEN`; empty if the answer has no code. */
    readonly errcode: string,
    /** Minimum wait before a retry, ms; 0 if the homeserver gave none. */
    readonly retryAfterMs = 0,
  ) {
    super(`the homeserver answered with ${status}${errcode === "" ? "" : ` ${errcode}`}`);
  }

  /**
   * Whether the homeserver rejected the request because of a rate limit. After a rate limit, the kit retries posts and
   * DMs (`toChatError`), and `untilAnswered` retries other calls. Both wait as long as the homeserver asks, if it gives
   * a wait.
   */
  get isRateLimit(): boolean {
    return this.status === 429 || this.errcode === "M_LIMIT_EXCEEDED";
  }

  /** Whether the homeserver rejected the access token. */
  get isTokenRejected(): boolean {
    return this.errcode === "M_UNKNOWN_TOKEN" || this.errcode === "M_MISSING_TOKEN";
  }
}

/** Thrown when the bridge cannot use the account with these settings. The message names the setting to change. */
export class AccountRejected extends Error {
  override readonly name = "AccountRejected";
}

/**
 * Whether the same request can succeed later: true after a missing answer, a rate limit, or a fault of the homeserver.
 */
export function isTransient(error: unknown): boolean {
  if (error instanceof CannotShow || error instanceof AccountRejected) return false;
  if (!(error instanceof MatrixError)) return true;
  return error.isRateLimit || error.status >= 500 || error.status === 408;
}

/** Whether the homeserver rejected the request with one of these codes. */
export function isRejected(error: unknown, ...errcodes: readonly string[]): error is MatrixError {
  return error instanceof MatrixError && errcodes.includes(error.errcode);
}
