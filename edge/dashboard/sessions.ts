import { createHash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { SignedInToken } from "./workspace-client";

/**
 * A signed-in operator. Sessions and sign-in codes are in the memory of the edge that created them. So signing out ends
 * a session for good, edges share no key, and the edge sends the operator's token only to core. After a restart of the
 * edge, all operators must sign in again.
 */
export interface Session extends SignedInToken {
  readonly token: string;
  readonly endsAtMs: number;
  /** Aborted when the session ends. */
  readonly over: AbortSignal;
}

export type Sessions = ReturnType<typeof createSessions>;

const HOUR_MS = 60 * 60 * 1000;
const SESSION_MS = 12 * HOUR_MS;
const IDLE_MS = 2 * HOUR_MS;
const SESSIONS_MAX = 1_000;
const CODE_MS = HOUR_MS;
const CODES_MAX = 100;

interface KeptSession extends Session {
  readonly ending: AbortController;
}

export function createSessions(now: () => number = Date.now) {
  // The keys are digests, so the duration of a lookup does not reveal how much of an id is correct.
  const sessions = new LRUCache<string, KeptSession>({
    max: SESSIONS_MAX,
    ttl: IDLE_MS,
    ttlAutopurge: false,
    dispose: ({ ending }) => ending.abort(),
  });
  const codes = new LRUCache<string, string>({ max: CODES_MAX, ttl: CODE_MS });

  function get(id: string, isUsed: boolean): Session | undefined {
    const session = sessions.get(digest(id), { updateAgeOnGet: isUsed });
    if (session === undefined || session.endsAtMs > now()) return session;
    sessions.delete(digest(id));
    return undefined;
  }

  return {
    /** Creates a session. Returns the session with the id for the browser's cookie. */
    begin(token: string, described: SignedInToken): { readonly id: string; readonly session: Session } {
      const id = secretText();
      const ending = new AbortController();
      const session = { ...described, token, endsAtMs: now() + SESSION_MS, ending, over: ending.signal };
      sessions.set(digest(id), session);
      return { id, session };
    },
    /** Returns the session. The call does not count as use: a session expires after two hours without use. */
    find: (id: string) => get(id, false),
    /** Returns the session. The call counts as use. */
    use: (id: string) => get(id, true),
    end: (id: string) => void sessions.delete(digest(id)),
    /** Creates a code that can be exchanged for the token once. */
    makeCode(token: string) {
      const code = secretText();
      codes.set(digest(code), token);
      return { code, endsAtMs: now() + CODE_MS };
    },
    /** Returns the token of a code. The code stays valid. */
    tokenOf: (code: string) => codes.get(digest(code)),
    /** Returns the token of a code and invalidates the code. */
    takeCode(code: string) {
      const token = codes.get(digest(code));
      codes.delete(digest(code));
      return token;
    },
    endAll(): void {
      sessions.clear();
      codes.clear();
    },
  };
}

function secretText(): string {
  return randomBytes(32).toString("base64url");
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
