import { createHash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { createShares } from "../../runtime/shares";
import type { SignedInToken } from "./workspace-client";

/**
 * A signed-in operator. Sessions and sign-in codes are in the memory of the edge that created them. So signing out ends
 * a session permanently, edges need no shared key, and the edge sends the operator's token only to core. After a
 * restart of the edge, all operators must sign in again. With several edges, the load balancer needs sticky sessions.
 */
export interface Session extends SignedInToken {
  readonly token: string;
  readonly endsAtMs: number;
  /** Identifies the session in this edge. Unlike the id, the key is not a secret. */
  readonly key: string;
  /** Aborted when the session ends. */
  readonly over: AbortSignal;
}

export type Sessions = ReturnType<typeof createSessions>;

const HOUR_MS = 60 * 60 * 1000;
const SESSION_MS = 12 * HOUR_MS;
const IDLE_MS = 2 * HOUR_MS;
const SESSIONS_MAX = { all: 1_000, token: 500, limitedToken: 100 } as const;
const CODE_MS = HOUR_MS;
const CODES_MAX = { all: 100, token: 50, limitedToken: 10 } as const;

interface KeptSession extends Session {
  readonly ending: AbortController;
}

interface Code {
  readonly token: string;
  readonly tokenName: string;
}

export function createSessions(now: () => number = Date.now) {
  // The keys are digests, so the duration of a lookup does not reveal how much of an id is correct.
  const sessions = createKept<KeptSession>(SESSIONS_MAX, IDLE_MS, ({ ending }) => ending.abort());
  const codes = createKept<Code>(CODES_MAX, CODE_MS);

  function get(id: string, isUsed: boolean): Session | undefined {
    const session = sessions.get(digest(id), { updateAgeOnGet: isUsed });
    if (session === undefined || session.endsAtMs > now()) return session;
    sessions.delete(digest(id));
    return undefined;
  }

  return {
    /**
     * Creates a session. Returns the session with the id for the browser's cookie. Above the maximum, the least
     * recently used session of the same token ends. Returns undefined if the sessions of other tokens leave no room.
     */
    begin(
      token: string,
      described: SignedInToken,
    ): { readonly id: string; readonly session: Session } | undefined {
      const id = secretText();
      const key = digest(id);
      const ending = new AbortController();
      const session = { ...described, token, key, endsAtMs: now() + SESSION_MS, ending, over: ending.signal };
      return sessions.add(key, session, described) ? { id, session } : undefined;
    },
    /** Returns the session. The call does not count as use: a session expires after two hours without use. */
    find: (id: string) => get(id, false),
    /** Returns the session. The call counts as use. */
    use: (id: string) => get(id, true),
    end: (id: string) => void sessions.delete(digest(id)),
    /**
     * Creates a code that can be exchanged for the token once. Above the maximum, the oldest code of the same token
     * becomes invalid. Returns undefined if the codes of other tokens leave no room.
     */
    makeCode(token: string, described: SignedInToken) {
      const code = secretText();
      const { tokenName } = described;
      return codes.add(digest(code), { token, tokenName }, described)
        ? { code, endsAtMs: now() + CODE_MS }
        : undefined;
    },
    /** Returns the token of a code. The code stays valid. */
    tokenOf: (code: string) => codes.get(digest(code))?.token,
    /** Returns the token of a code and invalidates the code. */
    takeCode(code: string) {
      const token = codes.get(digest(code))?.token;
      codes.delete(digest(code));
      return token;
    },
    endAll(): void {
      sessions.clear();
      codes.clear();
    },
  };
}

/**
 * Keeps sessions or codes until they expire. Each token has a share of the maximum number. So nobody can end the
 * sessions of people with other tokens by signing in very often.
 */
function createKept<Value extends { readonly tokenName: string }>(
  max: Readonly<Record<"all" | "token" | "limitedToken", number>>,
  ttl: number,
  onEnd?: (value: Value) => void,
) {
  const shares = createShares(max);
  const kept = new LRUCache<string, { readonly value: Value; readonly release: () => void }>({
    max: max.all,
    ttl,
    ttlAutopurge: false,
    dispose({ value, release }) {
      release();
      onEnd?.(value);
    },
  });

  /** Removes a token's least recently used session or code. Returns false when the token has none. */
  function removeOldest(tokenName: string): boolean {
    for (const key of kept.rkeys()) {
      if (kept.peek(key)?.value.tokenName === tokenName) return kept.delete(key);
    }
    return false;
  }

  return {
    /** Returns false when there is no room, and the token has no older value to remove. */
    add(key: string, value: Value, { tokenName, workspaces }: SignedInToken): boolean {
      kept.purgeStale();
      const owner = workspaces === null ? { token: tokenName } : { limitedToken: tokenName };
      let release = shares.acquire(owner);
      if (typeof release === "string" && removeOldest(tokenName)) release = shares.acquire(owner);
      if (typeof release === "string") return false;
      kept.set(key, { value, release });
      return true;
    },
    get: (key: string, options?: { readonly updateAgeOnGet: boolean }) => kept.get(key, options)?.value,
    delete: (key: string) => kept.delete(key),
    clear: () => kept.clear(),
  };
}

function secretText(): string {
  return randomBytes(32).toString("base64url");
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
