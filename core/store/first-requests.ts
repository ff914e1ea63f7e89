import { LRUCache } from "lru-cache";

/** Milliseconds without an accepted request after which the next one is the first again. */
const FORGET_MS = 600_000;
/** Minimum milliseconds between two first requests of a kind, so that a flood of refusals does not cost more writes. */
const AGAIN_MS = 10_000;
/**
 * Maximum number of workspaces and kinds that are remembered. An entry takes about 200 bytes, so all of them take at most
 * 7 MB. A request of a forgotten workspace counts as its first.
 */
const REMEMBERED_MAX = 32_768;

interface Seen {
  /** The time of the last accepted request. */
  acceptedMs: number;
  /** The time of the last request that was a first one. */
  firstMs: number;
  /** Whether a request was refused since then. */
  hasRefusal: boolean;
}

const KINDS = ["post", "poll"] as const;
export type AcceptedKind = (typeof KINDS)[number];

export const isAccepted = (kind: string): kind is AcceptedKind => (KINDS as readonly string[]).includes(kind);

/**
 * Finds the accepted requests for which a person may wait: the first one of its kind after a refusal, or after ten minutes
 * without any. Posts and polls are separate, because the polls of a bridge may pass while its posts are refused. All times
 * are values of `performance.now()`.
 */
export class FirstRequests {
  readonly #seen = new LRUCache<string, Seen>({ max: REMEMBERED_MAX });

  refused(workspaceId: string): void {
    for (const kind of KINDS) {
      const seen = this.#seen.get(`${kind}:${workspaceId}`);
      if (seen !== undefined) seen.hasRefusal = true;
    }
  }

  /** Returns whether an accepted request is a first one. */
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
