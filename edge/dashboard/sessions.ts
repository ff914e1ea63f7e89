import { createHash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";

/**
 * Who is signed in, and the links by which to sign in. They are kept in the
 * memory of the edge that made them, so a session ends for good when someone
 * signs out, no key has to be shared, and the operator's token never leaves the
 * process. An edge that is started anew asks everyone to sign in again.
 */
export interface Session {
  readonly token: string;
  readonly endsAtMs: number;
  /** Aborted when the session ends. */
  readonly over: AbortSignal;
}

export interface Sessions {
  /** Answers the id that the browser is to show. */
  begin(token: string): { readonly id: string; readonly session: Session };
  /** The session, which nobody uses by this: looked at alone, it ends when it was not used for two hours. */
  find(id: string): Session | undefined;
  /** The session, which somebody uses. */
  use(id: string): Session | undefined;
  end(id: string): void;
  /** A code that may be exchanged for the token once. */
  makeCode(token: string): { readonly code: string; readonly endsAtMs: number };
  /** The token of a code, which stays as good as it is. */
  tokenOf(code: string): string | undefined;
  /** The token of a code, which is of no use from then on. */
  takeCode(code: string): string | undefined;
  endAll(): void;
}

const HOUR_MS = 60 * 60 * 1000;
const SESSION_MS = 12 * HOUR_MS;
const IDLE_MS = 2 * HOUR_MS;
const SESSIONS_MAX = 1_000;
const CODE_MS = HOUR_MS;
const CODES_MAX = 100;

interface KeptSession extends Session {
  readonly ending: AbortController;
}

export function createSessions(now: () => number = Date.now): Sessions {
  // Both are kept by digest: looking one up takes no longer the more of it is right.
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
    begin(token) {
      const id = secretText();
      const ending = new AbortController();
      const session = { token, endsAtMs: now() + SESSION_MS, ending, over: ending.signal };
      sessions.set(digest(id), session);
      return { id, session };
    },
    find: (id) => get(id, false),
    use: (id) => get(id, true),
    end: (id) => void sessions.delete(digest(id)),
    makeCode(token) {
      const code = secretText();
      codes.set(digest(code), token);
      return { code, endsAtMs: now() + CODE_MS };
    },
    tokenOf: (code) => codes.get(digest(code)),
    takeCode(code) {
      const token = codes.get(digest(code));
      codes.delete(digest(code));
      return token;
    },
    endAll() {
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
