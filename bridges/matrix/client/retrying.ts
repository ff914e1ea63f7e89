import { setTimeout as sleep } from "node:timers/promises";
import { isTransient, MatrixError } from "./matrix-error";

const FIRST_WAIT_MS = 500;
const WAIT_MAX_MS = 30_000;
/**
 * Maximum wait while the homeserver gives no answer, e.g. while it restarts. This wait is short, because all rooms
 * depend on the homeserver.
 */
const NO_ANSWER_WAIT_MAX_MS = 5_000;

export interface RetryOptions {
  /** Stops the retries. */
  readonly signal: AbortSignal;
  /** Called with each failure, before the wait. */
  readonly onFailure?: (error: unknown) => void;
}

/**
 * Calls `call` until the homeserver answers. The waits grow up to 30 s, or 5 s while the homeserver cannot be reached.
 * The waits are never shorter than the wait that the homeserver asks for (see `readRetryAfter`). Rejects when the
 * homeserver rejects the request permanently, or when the signal is aborted.
 */
export async function untilAnswered<T>(
  call: () => Promise<T>,
  { signal, onFailure }: RetryOptions,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    signal.throwIfAborted();
    try {
      return await call();
    } catch (error) {
      if (!isTransient(error)) throw error;
      signal.throwIfAborted();
      onFailure?.(error);
      await sleep(waitMs(error, failures), undefined, { signal });
    }
  }
}

/**
 * Returns the wait after `failures` failures in a row, ms. The wait is randomly extended by up to a quarter, so that
 * retries spread out.
 */
function waitMs(error: unknown, failures: number): number {
  const most = error instanceof MatrixError ? WAIT_MAX_MS : NO_ANSWER_WAIT_MAX_MS;
  const growing = Math.min(most, FIRST_WAIT_MS * 2 ** (failures - 1));
  const asked = error instanceof MatrixError ? error.retryAfterMs : 0;
  // If the homeserver gives a wait, e.g. for a rate limit, that wait replaces the growing wait.
  return (asked > 0 ? asked : growing) * (1 + Math.random() / 4);
}
