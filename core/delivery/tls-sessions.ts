import type { TLSSocket } from "node:tls";
import { LRUCache } from "lru-cache";

/** Bytes of the sessions that are kept: those of some 7,000 bridges. A bridge without one costs a full handshake. */
const KEPT_MAX_BYTES = 16 * 1024 * 1024;
/** A larger session is not kept. Most have one or two KB; a ticket may have 64. */
const SESSION_MAX_BYTES = 16 * 1024;
/** What an entry takes beside its session, about. */
const ENTRY_BYTES = 512;
/**
 * How long the sessions of a full handshake are used. A resumed connection does not check the certificate
 * again, so this bounds how long one that was revoked or replaced still counts.
 */
const LIFE_MS = 60 * 60 * 1000;

/** TLS sessions: with one of them a further connection to a bridge takes a third less processor time, at both ends together. */
export interface TlsSessions {
  /**
   * Returns what a new connection resumes: the session of the last connection to one of the addresses, made by
   * the same name and to the same port. All connections must trust the same roots.
   *
   * @param host with its port, unless that is 443
   */
  resume(host: string, addresses: readonly string[]): Resumption;
}

export interface Resumption {
  /** For `tls.connect`; undefined when the handshake is a full one. */
  readonly session: Buffer | undefined;
  /** Keeps the sessions that the bridge sends. Must be called before the connection is made. */
  follow(socket: TLSSocket): void;
  /** The handshake failed: its session is not offered again. */
  forget(): void;
}

interface KeptSession {
  readonly key: string;
  readonly session: Buffer;
  /** The `performance.now()` from which on the certificate must be checked again. */
  readonly until: number;
}

export function createTlsSessions(maxBytes = KEPT_MAX_BYTES): TlsSessions {
  const kept = new LRUCache<string, KeptSession>({ maxSize: maxBytes, maxEntrySize: SESSION_MAX_BYTES });

  function find(host: string, addresses: readonly string[]): KeptSession | undefined {
    for (const address of addresses) {
      const found = kept.get(keyOf(host, address));
      if (found !== undefined && found.until > performance.now()) return found;
    }
    return undefined;
  }

  return {
    resume(host, addresses) {
      const offered = find(host, addresses);
      function forget(): void {
        if (offered !== undefined && kept.peek(offered.key) === offered) kept.delete(offered.key);
      }
      function follow(socket: TLSSocket): void {
        let until = 0;
        socket.once("secureConnect", () => {
          if (offered !== undefined && socket.isSessionReused()) {
            until = offered.until;
          } else {
            // The bridge did not take it.
            forget();
            until = performance.now() + lifeMs(socket);
          }
        });
        // Not before: a listener of sessions is lost when another address of the host is tried.
        socket.once("connect", () => {
          const key = keyOf(host, socket.remoteAddress ?? "");
          // Emitted only after the certificate was accepted, and once for each ticket that the bridge sends.
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

/** How long the sessions of a connection may be used, ms: never longer than its certificate is valid. */
function lifeMs(socket: TLSSocket): number {
  return Math.min(LIFE_MS, Date.parse(socket.getPeerCertificate().valid_to) - Date.now());
}
