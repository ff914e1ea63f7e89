import { CannotShow, RetryLater } from "chat-bridge-kit";
import { isTransient, MatrixError } from "../client/matrix-error";

/** Wait after a rate limit that names no wait, ms. */
const RATE_LIMIT_WAIT_MS = 2_000;

/** Returns the error by which the kit knows whether and when to retry a call. */
export function toChatError(error: unknown): unknown {
  if (!(error instanceof MatrixError)) return error;
  if (error.isRateLimit) return new RetryLater(error.retryAfterMs || RATE_LIMIT_WAIT_MS, error.message);
  // A new login makes the token valid again.
  if (isTransient(error) || error.isTokenRejected) return error;
  return new CannotShow(`${error.message}: the bridge is not in the room, or may not send there`);
}

export function encryptedRoom(): CannotShow {
  return new CannotShow("the room is encrypted, and the bridge does not support encrypted rooms");
}
