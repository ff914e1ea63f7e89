import { CannotShow, RetryLater } from "chat-bridge-kit";
import { isTransient, MatrixError } from "../client/matrix-error";

/** Wait after a rate limit if the homeserver gives no wait, ms. */
const RATE_LIMIT_WAIT_MS = 2_000;

/** Returns the error that determines whether and when the kit retries a call. */
export function toChatError(error: unknown): unknown {
  if (!(error instanceof MatrixError)) return error;
  if (error.isRateLimit) return new RetryLater(error.retryAfterMs || RATE_LIMIT_WAIT_MS, error.message);
  // After a new login, a retry can succeed.
  if (isTransient(error) || error.isTokenRejected) return error;
  return new CannotShow(`${error.message}: the bridge is not in the room, or may not send there`);
}

export function encryptedRoom(): CannotShow {
  return new CannotShow("the room is encrypted, and the bridge does not support encrypted rooms");
}
