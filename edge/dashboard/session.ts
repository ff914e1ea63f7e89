/**
 * A signed-in operator. The browser's cookie contains a random secret. The edge encrypts the session with a key derived
 * from this secret, and core stores the encrypted session. So every edge can read the session of a request, even after
 * a restart, but core, Redis and their backups never contain a readable token. After a sign-out, no edge finds the
 * session.
 */
export interface Session {
  readonly token: string;
  readonly tokenName: string;
  /** Whether the token is limited to some workspaces. */
  readonly isLimited: boolean;
  readonly endsAtMs: number;
  /** Identifies the session. Unlike the value of the cookie, this key need not be kept secret. */
  readonly key: string;
  /** Aborted when this edge learns that the session has ended. */
  readonly over: AbortSignal;
}
