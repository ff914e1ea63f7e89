import { LRUCache } from "lru-cache";
import type { Session } from "./session";

/**
 * Milliseconds for which an edge uses a session without asking core again. So the requests of one page need only one
 * call to core, and a sign-out at another edge takes effect within this time.
 */
const FRESH_MS = 2_000;
/** Maximum number of sessions that an edge remembers. For any other session, the edge asks core at each request. */
const REMEMBERED_MAX = 1_000;

interface Remembered {
  session: Promise<Session | undefined>;
  readAtMs: number;
  /** Time of the last call to core that counted as use. */
  usedAtMs: number;
  readonly ending: AbortController;
}

/** The sessions that an edge has read recently. */
export class SessionMemory {
  readonly #remembered = new LRUCache<string, Remembered>({ max: REMEMBERED_MAX });
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  has(key: string): boolean {
    return this.#remembered.has(key);
  }

  /** Returns the controller that aborts the session's signal `over`. */
  endingOf(key: string): AbortController {
    return this.#remembered.get(key)?.ending ?? new AbortController();
  }

  /** Remembers a session that core has just returned, unless the memory contains it. */
  add(session: Session, ending: AbortController, isUsed: boolean): void {
    if (this.#remembered.has(session.key)) return;
    const readAtMs = this.#now();
    const usedAtMs = isUsed ? readAtMs : -Infinity;
    this.#remembered.set(session.key, { session: Promise.resolve(session), readAtMs, usedAtMs, ending });
  }

  /**
   * Returns a session. Calls `read`, which asks core, unless `read` was called for this session recently. If `isUse`,
   * only a recent call that counted as use is sufficient.
   */
  get(key: string, isUse: boolean, read: () => Promise<Session | undefined>): Promise<Session | undefined> {
    const known = this.#remembered.get(key);
    if (known === undefined) return read();
    const since = isUse ? known.usedAtMs : known.readAtMs;
    if (Math.abs(this.#now() - since) < FRESH_MS) return known.session;
    // Concurrent requests share this call.
    known.session = read();
    known.readAtMs = this.#now();
    if (isUse) known.usedAtMs = known.readAtMs;
    known.session.catch(() => (known.readAtMs = known.usedAtMs = -Infinity));
    return known.session;
  }

  /** Forgets a session that has ended, and ends its streams. */
  end(key: string): void {
    this.#remembered.get(key)?.ending.abort();
    this.#remembered.delete(key);
  }

  endAll(): void {
    for (const key of Array.from(this.#remembered.keys())) this.end(key);
  }
}
