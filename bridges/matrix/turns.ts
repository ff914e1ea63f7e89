import { setTimeout as sleep } from "node:timers/promises";
import { MatrixError } from "./client/matrix-error";
import { untilAnswered } from "./client/retrying";

/**
 * Maximum milliseconds for which a background request waits for rate-limited posts. Members may be waiting for the
 * answer to the background request.
 */
const TURN_WAIT_MAX_MS = 30_000;

/** Sends posts and edits before background requests while the homeserver limits their rate. */
export function createTurns(signal: AbortSignal) {
  /** The number of posts and edits that wait because of the homeserver's rate limit. */
  let limited = 0;
  let released = new AbortController();

  return {
    /**
     * Resolves when a background request may be made: once no post or edit waits for the rate limit, or at the latest
     * after `TURN_WAIT_MAX_MS`.
     */
    async turn(): Promise<void> {
      if (limited === 0) return;
      const either = AbortSignal.any([signal, released.signal]);
      await sleep(TURN_WAIT_MAX_MS, undefined, { signal: either }).catch(() => undefined);
    },
    /**
     * Calls `post`, which sends a post or an edit, until the homeserver answers. While the homeserver limits the rate
     * of `post`, background requests wait, because they would use up the limit.
     */
    async first<T>(post: () => Promise<T>, stop: AbortSignal): Promise<T> {
      let isLimited = false;
      const onFailure = (error: unknown): void => {
        if (isLimited || !(error instanceof MatrixError) || !error.isRateLimit) return;
        isLimited = true;
        limited += 1;
      };
      try {
        return await untilAnswered(post, { signal: stop, onFailure });
      } finally {
        if (isLimited) limited -= 1;
        if (isLimited && limited === 0) {
          released.abort();
          released = new AbortController();
        }
      }
    },
  };
}
