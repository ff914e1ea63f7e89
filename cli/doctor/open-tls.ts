import { isIP } from "node:net";
import { connect, type PeerCertificate, type TLSSocket } from "node:tls";
import type { ClientTls } from "../../runtime/core-connection";

/** A certificate that a server sent. */
export interface SentCertificate {
  /** The names for which the certificate is valid. */
  readonly names: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * A server's certificate chain, beginning with the server's own certificate, and OpenSSL's error code if a client
 * rejects the chain.
 */
export interface TlsFacts {
  readonly certificates: readonly SentCertificate[];
  readonly fault: string | undefined;
}

/** Maximum number of certificates that are read; real chains are shorter. A self-signed certificate ends the chain. */
const CHAIN_MAX = 10;

/**
 * Returns the certificates that a server sent in the handshake. The socket must have been created with
 * `rejectUnauthorized: false`.
 */
export function tlsFactsOf(socket: TLSSocket): TlsFacts {
  const found: SentCertificate[] = [];
  let at: PeerCertificate | undefined = socket.getPeerCertificate(true);
  while (at?.valid_to !== undefined && found.length < CHAIN_MAX) {
    const issuer = issuerOf(at);
    // Clients do not check the dates of a self-signed authority, so it is left out, unless it is the server's own
    // certificate.
    if (issuer !== undefined || found.length === 0) {
      found.push({
        names: (at.subjectaltname ?? "").slice(0, 200),
        fromMs: Date.parse(at.valid_from),
        toMs: Date.parse(at.valid_to),
      });
    }
    at = issuer;
  }
  const error: unknown = socket.authorizationError;
  return { certificates: found, fault: socket.authorized ? undefined : codeOf(error) };
}

function issuerOf(certificate: PeerCertificate): PeerCertificate | undefined {
  const issuer = "issuerCertificate" in certificate ? certificate.issuerCertificate : undefined;
  return issuer === certificate ? undefined : (issuer as PeerCertificate | undefined);
}

/** Node gives the code as text, or an error with the code. */
function codeOf(error: unknown): string {
  if (typeof error === "string") return error;
  if (!(error instanceof Error)) return "unknown";
  return "code" in error ? String(error.code) : error.message;
}

export interface TlsTarget {
  readonly host: string;
  readonly port: number;
  /** The name that the certificate must contain. */
  readonly name: string;
}

/** Makes a TLS handshake like a client of core. If the handshake fails, resolves to the reason. */
export function openTls(
  { host, port, name }: TlsTarget,
  tls: ClientTls | undefined,
  withinMs: number,
): Promise<TlsFacts | { readonly failed: string }> {
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port,
      // The server name (SNI) of a TLS handshake must not be an address.
      ...(isIP(name) === 0 && { servername: name }),
      ca: tls?.ca,
      cert: tls?.cert,
      key: tls?.key,
      ALPNProtocols: ["h2"],
      rejectUnauthorized: false,
      timeout: withinMs,
    });
    const end = (result: TlsFacts | { failed: string }): void => {
      resolve(result);
      socket.destroy();
    };
    socket.once("secureConnect", () => end(tlsFactsOf(socket)));
    socket.once("timeout", () => end({ failed: `no handshake within ${withinMs / 1_000} seconds` }));
    socket.on("error", (error: NodeJS.ErrnoException) =>
      end({ failed: error.message || String(error.code) }),
    );
  });
}
