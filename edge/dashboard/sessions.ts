import { createSecret, seal, sealOf, unseal, type Seal } from "./seal";
import type { SealedClient, SealedName } from "./sealed-client";
import type { Session } from "./session";
import { SessionMemory } from "./session-memory";
import type { SignedInToken } from "./workspace-client";

export type Sessions = ReturnType<typeof createSessions>;

/** The encrypted text of a session or a link: the token, its name, and whether it is limited. */
type Stored = readonly [token: string, tokenName: string, isLimited: boolean];

/** While core is unavailable, `store` and all returned functions that call it reject with `SessionsUnavailable`. */
export function createSessions(store: SealedClient, now: () => number = Date.now) {
  const memory = new SessionMemory(now);

  async function read(sealed: Seal, isUse: boolean): Promise<Session | undefined> {
    const entry = await store.read("session", sealed.id, isUse);
    const stored = entry && toStored(sealed, entry.sealed);
    if (entry === undefined || stored === undefined) {
      memory.end(sealed.id);
      return undefined;
    }
    const ending = memory.endingOf(sealed.id);
    const session = toSession(sealed.id, stored, entry.expiresAtMs, ending);
    memory.add(session, ending, isUse);
    return session;
  }

  async function get(secret: string, isUse: boolean): Promise<Session | undefined> {
    const sealed = sealOf("session", secret);
    return sealed && memory.get(sealed.id, isUse, () => read(sealed, isUse));
  }

  return {
    ...createLinks(store),
    /**
     * Creates a session. Returns the session with the secret for the browser's cookie. If the maximum number of
     * sessions is exceeded, the least recently used session of the same token ends. Returns undefined if other tokens'
     * sessions use up all the room.
     */
    async begin(
      token: string,
      described: SignedInToken,
    ): Promise<{ readonly id: string; readonly session: Session } | undefined> {
      const put = await putNew(store, "session", token, described);
      if (put === undefined) return undefined;
      memory.end(put.removedId);
      const ending = new AbortController();
      const session = toSession(put.key, put.stored, put.expiresAtMs, ending);
      memory.add(session, ending, true);
      return { id: put.secret, session };
    },
    /** Whether this edge has recently found the session. */
    isRemembered: (secret: string) => memory.has(sealOf("session", secret)?.id ?? ""),
    /** Returns the session. The call does not count as use: a session expires after two hours without use. */
    find: (secret: string) => get(secret, false),
    /** Returns the session. The call counts as use. */
    use: (secret: string) => get(secret, true),
    /** Ends a session at all edges. */
    async end(secret: string): Promise<void> {
      const key = sealOf("session", secret)?.id;
      if (key === undefined) return;
      await store.take("session", key);
      memory.end(key);
    },
    /** Ends the streams of all sessions at this edge. The sessions themselves continue at the other edges. */
    close: () => memory.endAll(),
  };
}

function createLinks(store: SealedClient) {
  return {
    /**
     * Creates a code that can be exchanged for the token once. If the maximum number of codes is exceeded, the oldest
     * code of the same token becomes invalid. Returns undefined if other tokens' codes use up all the room.
     */
    async makeCode(token: string, described: SignedInToken) {
      const put = await putNew(store, "link", token, described);
      return put && { code: put.secret, endsAtMs: put.expiresAtMs };
    },
    /** Returns the token of a code. The code stays valid. */
    async tokenOf(code: string): Promise<string | undefined> {
      const sealed = sealOf("link", code);
      const entry = sealed && (await store.read("link", sealed.id, false));
      return sealed && entry && toStored(sealed, entry.sealed)?.[0];
    },
    /** Returns the token of a code and invalidates the code. */
    async takeCode(code: string): Promise<string | undefined> {
      const sealed = sealOf("link", code);
      const taken = sealed && (await store.take("link", sealed.id));
      return sealed && taken && toStored(sealed, taken)?.[0];
    },
  };
}

/** Stores a new session or link. Returns undefined if other tokens' entries use up all the room. */
async function putNew(
  store: SealedClient,
  kind: SealedName,
  token: string,
  { tokenName, workspaces }: SignedInToken,
) {
  const secret = createSecret();
  const sealed = sealOf(kind, secret);
  if (sealed === undefined) throw new Error("a new secret has the wrong form");
  const limited = workspaces !== null;
  const stored: Stored = [token, tokenName, limited];
  const entry = { sealed: seal(sealed, JSON.stringify(stored)), tokenName, limited };
  const put = await store.put(kind, sealed.id, entry);
  return put && { ...put, secret, key: sealed.id, stored };
}

function toStored(sealed: Seal, bytes: Uint8Array): Stored | undefined {
  const text = unseal(sealed, bytes);
  return text === undefined ? undefined : (JSON.parse(text) as Stored);
}

function toSession(
  key: string,
  [token, tokenName, isLimited]: Stored,
  endsAtMs: number,
  { signal }: AbortController,
): Session {
  return { token, tokenName, isLimited, endsAtMs, key, over: signal };
}
