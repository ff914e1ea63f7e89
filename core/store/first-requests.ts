import { LRUCache } from "lru-cache";

/** Milliseconds without an accepted request, after which the next accepted request counts as a first request. */
const FORGET_MS = 600_000;
/**
 * Minimum milliseconds between two requests of a kind that count as first requests, so that a flood of refusals does
 * not cause more writes.
 */
const AGAIN_MS = 10_000;
/**
 * Maximum number of remembered entries, one for each workspace and kind. An entry takes about 200 bytes, so all entries
 * take at most 7 MB. The next request of a forgotten workspace counts as a first request.
 */
const REMEMBERED_MAX = 32_768;

interface Seen {
  /** The time of the last accepted request. */
  acceptedMs: number;
  /** The time of the last request that counted as a first request. */
  firstMs: number;
  /** Whether a request was refused since the last first request. */
  hasRefusal: boolean;
}

const KINDS = ["post", "poll"] as const;
export type AcceptedKind = (typeof KINDS)[number];

export const isAccepted = (kind: string): kind is AcceptedKind => (KINDS as readonly string[]).includes(kind);

/**
 * Finds the first requests, which a person may be waiting for. A first request is the first accepted request of its
 * kind after a refusal, or after ten minutes without an accepted request. Posts and polls are separate, because the
 * polls of a bridge may pass while its posts are refused. All times are values of `performance.now()`.
 */
export class FirstRequests {
  readonly #seen = new LRUCache<string, Seen>({ max: REMEMBERED_MAX });

  refused(workspaceId: string): void {
    for (const kind of KINDS) {
      const seen = this.#seen.get(`${kind}:${workspaceId}`);
      if (seen !== undefined) seen.hasRefusal = true;
    }
  }

  /** Returns whether an accepted request counts as a first request. */
  accepted(workspaceId: string, kind: AcceptedKind, nowMs: number): boolean {
    const key = `${kind}:${workspaceId}`;
    const seen = this.#seen.get(key);
    if (seen === undefined) {
      this.#seen.set(key, { acceptedMs: nowMs, firstMs: nowMs, hasRefusal: false });
      return true;
    }
    const isAwaited = seen.hasRefusal || nowMs - seen.acceptedMs >= FORGET_MS;
    seen.acceptedMs = nowMs;
    if (!isAwaited || nowMs - seen.firstMs < AGAIN_MS) return false;
    seen.firstMs = nowMs;
    seen.hasRefusal = false;
    return true;
  }
}
