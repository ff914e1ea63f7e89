import { CannotShow, RetryLater } from "chat-bridge-kit";
import { isTransient, MatrixError } from "../client/matrix-error";

/** Wait after a rate limit if the homeserver gives no wait, ms. */
const RATE_LIMIT_WAIT_MS = 2_000;
/**
 * Milliseconds for which a message waits until the bridge may speak in its room. Games of a room are over after this
 * time, and the kit must not keep a message that never expires.
 */
const MUTED_FOR_MS = 10 * 60_000;
/** Minimum wait before a message is tried again in a room in which the bridge may not speak, ms. */
const MUTED_WAIT_MS = 2_000;

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

/**
 * Returns the error for a message in a room in which the bridge may not speak. The message waits for 10 minutes, so
 * that a game appears once a moderator has corrected the powers. Messages for other rooms do not wait.
 *
 * @param createdAt time of the message's event, ISO 8601
 */
export function mutedRoom(createdAt: string): CannotShow | RetryLater {
  const problem = "the bridge may not send messages in the room: raise the power level of its account";
  const isOver = Date.now() - Date.parse(createdAt) >= MUTED_FOR_MS;
  return isOver ? new CannotShow(problem) : new RetryLater(MUTED_WAIT_MS, problem);
}
