import { retryAfterMs } from "chat-bridge-kit";

/**
 * Longest wait that a homeserver can ask for, ms. A longer wait is probably a fault of the homeserver, e.g. a point in
 * time instead of a duration. Also, Node's timers fire immediately if the wait is longer than 2^31-1 ms.
 */
export const RETRY_AFTER_MOST_MS = 3_600_000;

/**
 * Returns the wait that an answer asks for, from 0 to `RETRY_AFTER_MOST_MS` ms; 0 if the answer gives no valid wait.
 *
 * @param inBody the field `retry_after_ms` of the body
 * @param header the header `Retry-After`: seconds, or a date
 */
export function readRetryAfter(inBody: unknown, header: string | null, nowMs: number): number {
  const ms = typeof inBody === "number" ? inBody : retryAfterMs(header, nowMs);
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(0, ms), RETRY_AFTER_MOST_MS);
}
