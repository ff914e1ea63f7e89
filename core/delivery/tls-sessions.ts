import type { TLSSocket } from "node:tls";
import { LRUCache } from "lru-cache";

/**
 * Maximum total size in bytes of all kept sessions, enough for about 7,000 bridges. A connection without a kept session
 * needs a full handshake.
 */
const KEPT_MAX_BYTES = 16 * 1024 * 1024;
/** Larger sessions are not kept. Most sessions take 1 or 2 KB, but a ticket can take 64 KB. */
const SESSION_MAX_BYTES = 16 * 1024;
/** Approximate bytes of an entry, in addition to its session. */
const ENTRY_BYTES = 512;
/**
 * Milliseconds for which sessions from a full handshake can be resumed. A resumed connection does not check the
 * certificate again, so this time limits how long a revoked or replaced certificate is still accepted.
 */
const LIFE_MS = 60 * 60 * 1000;

export type TlsSessions = ReturnType<typeof createTlsSessions>;

interface KeptSession {
  readonly key: string;
  readonly session: Buffer;
  /** The `performance.now()` time at which the certificate must be checked again. */
  readonly until: number;
}

/**
 * Caches TLS sessions. Resuming a session takes a third less CPU time than a full handshake, for core and the
 * bridge together.
 */
export function createTlsSessions(maxBytes = KEPT_MAX_BYTES) {
  const kept = new LRUCache<string, KeptSession>({ maxSize: maxBytes, maxEntrySize: SESSION_MAX_BYTES });

  function find(host: string, addresses: readonly string[]): KeptSession | undefined {
    for (const address of addresses) {
      const found = kept.get(keyOf(host, address));
      if (found !== undefined && found.until > performance.now()) return found;
    }
    return undefined;
  }

  return {
    /**
     * Returns a `session` that a new connection can resume, and two functions to call for the new connection. The
     * session is from an earlier connection to the same name and port, at one of `addresses`. If there is no such
     * session, `session` is undefined, and the new connection makes a full handshake. All connections must trust the
     * same root certificates.
     *
     * @param host the name, followed by the port unless the port is 443
     */
    resume(host: string, addresses: readonly string[]) {
      const offered = find(host, addresses);
      /** Must be called when the handshake failed, so that the session is not offered again. */
      function forget(): void {
        if (offered !== undefined && kept.peek(offered.key) === offered) kept.delete(offered.key);
      }
      /** Keeps the sessions that the bridge sends. Must be called before the socket is connected. */
      function follow(socket: TLSSocket): void {
        let until = 0;
        socket.once("secureConnect", () => {
          if (offered !== undefined && socket.isSessionReused()) {
            until = offered.until;
          } else {
            // If core offered a session, the bridge has rejected it.
            forget();
            until = performance.now() + lifeMs(socket);
          }
        });
        // Node drops a `session` listener that was added before `connect` when it tries another address of the host.
        socket.once("connect", () => {
          const key = keyOf(host, socket.remoteAddress ?? "");
          // Node emits `session` once for each ticket that the bridge sends, and only after Node has accepted the
          // certificate.
          socket.on("session", (session) => {
            kept.set(key, { key, session, until }, { size: ENTRY_BYTES + session.length });
          });
        });
      }
      return { session: offered?.session, follow, forget };
    },
  };
}

function keyOf(host: string, address: string): string {
  return `${host} ${address}`;
}

/**
 * Returns the milliseconds for which the sessions of a connection can be used, never beyond the expiry of the
 * bridge's certificate.
 */
function lifeMs(socket: TLSSocket): number {
  return Math.min(LIFE_MS, Date.parse(socket.getPeerCertificate().valid_to) - Date.now());
}
