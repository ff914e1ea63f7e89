import { type LookupFunction, type OnReadOpts, isIPv6 } from "node:net";
import { connect, type ConnectionOptions, type SecureContext, type TLSSocket } from "node:tls";
import type { AttemptStep, Failure } from "../../contract/deliveries";
import { findPublicAddresses, type PublicHostOptions } from "./public-host";
import type { TlsSessions } from "./tls-sessions";

/** The failure of an attempt. The message is written for the owner of the workspace. */
export class PushFault extends Error {
  override readonly name = "PushFault";
  constructor(
    readonly failure: Failure,
    detail: string,
    readonly address?: string,
  ) {
    super(detail);
  }
}

export interface PushConnectionOptions extends PublicHostOptions {
  /**
   * Returns the context with the root certificates that are trusted now. The context is not created for each connection,
   * because reading all root certificates takes 0.1 seconds.
   */
  secureContext(): SecureContext;
  /** TLS sessions to resume. Without `sessions`, every connection requires a full handshake. */
  readonly sessions?: TlsSessions;
}

/**
 * Opens a TLS connection to the host of a URL. Looks up the host's name once, checks every address, and connects
 * only to these addresses. Checks that the certificate is valid for the name. A resumed session skips this check,
 * because its certificate was checked before. If the connection fails, rejects with a `PushFault`.
 */
export async function openConnection(
  options: PushConnectionOptions,
  url: URL,
  withinMs: number,
  done: (step: AttemptStep, detail: string) => void = () => {},
): Promise<TLSSocket> {
  const began = performance.now();
  const found = await findPublicAddresses(options, url);
  const addresses = "failure" in found ? found.addresses : found;
  if (addresses.length > 0) done("name", addresses.join(", "));
  if ("failure" in found) throw new PushFault(found.failure, found.detail);
  done("address", "pushes to the addresses of this host are allowed");
  return new Promise((resolve, reject) => {
    let connected = false;
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
    const resumption = options.sessions?.resume(url.host, found);
    const target: ConnectionOptions & { readonly autoSelectFamily: true; readonly onread: OnReadOpts } = {
      host,
      port: Number(url.port || 443),
      // A literal address is not sent as a server name; the certificate must contain the address. The trailing dot of a
      // name is removed before the name is sent and compared with the certificate (RFC 6066, section 3).
      ...(found[0] === host ? {} : { servername: host.replace(/\.$/, "") }),
      secureContext: options.secureContext(),
      ALPNProtocols: ["http/1.1"],
      lookup: answerWith(found),
      autoSelectFamily: true,
      // `rejectUnauthorized` is set explicitly, because NODE_TLS_REJECT_UNAUTHORIZED can change its default.
      rejectUnauthorized: true,
      session: resumption?.session,
      onread: { buffer: READ_BUFFER, callback: (size) => emitRead(socket, size) },
    };
    const socket = connect(target);
    socket.setNoDelay(true);
    resumption?.follow(socket);
    const onConnect = (): void => {
      connected = true;
      done("connect", socket.remoteAddress ?? "");
    };
    // The timer limits the total time: a bridge that sends a byte now and then cannot extend this time.
    const timer = setTimeout(
      () => {
        const what = connected ? "the TLS handshake was not completed" : "no connection was made";
        settle(
          new PushFault(
            "timeout",
            `${what} within ${Math.ceil(withinMs / 1000)} seconds`,
            socket.remoteAddress,
          ),
        );
      },
      Math.max(0, began + withinMs - performance.now()),
    );
    const onError = (error: NodeJS.ErrnoException): void =>
      settle(toFault(error, connected, socket.remoteAddress));
    const onClose = (): void => onError(new Error("the connection was closed"));
    const onSecure = (): void => {
      done("tls", socket.getProtocol() ?? "");
      settle();
    };
    socket.on("connect", onConnect).on("secureConnect", onSecure);
    socket.on("error", onError).on("close", onClose);

    function settle(fault?: PushFault): void {
      clearTimeout(timer);
      socket.off("connect", onConnect).off("secureConnect", onSecure).off("close", onClose);
      if (fault === undefined) {
        socket.off("error", onError);
        resolve(socket);
      } else {
        if (connected) resumption?.forget();
        // The attempt has already failed, so later errors from this socket are ignored.
        socket.off("error", onError).on("error", () => {});
        socket.destroy();
        reject(fault);
      }
    }
  });
}

/**
 * The bytes that Node has just read from any connection. Without a shared buffer, Node allocates a buffer for each
 * answer, which costs more than parsing the answer.
 */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Passes the bytes in `READ_BUFFER` to the listener for "data", which must not keep them. Returns true, so that the
 * socket continues to read.
 */
function emitRead(socket: TLSSocket, size: number): boolean {
  const bytes = READ_BUFFER.subarray(0, size);
  // If the bridge sends bytes at the end of the handshake, the socket has no listener for "data" yet.
  if (!socket.emit("data", bytes)) {
    const copy = Buffer.from(bytes);
    setImmediate(() => socket.emit("data", copy));
  }
  return true;
}

/** Returns a lookup function that answers with the checked addresses, so that the name is not looked up again. */
function answerWith(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_name, { all: wantsAll }, callback) => {
    const [first] = all;
    if (wantsAll === true) callback(null, all);
    else callback(null, first?.address ?? "", first?.family ?? 4);
  };
}

function toFault(error: NodeJS.ErrnoException, connected: boolean, address: string | undefined): PushFault {
  const why = error.code ?? error.message;
  return connected
    ? new PushFault("tls", tlsFailure(why), address)
    : new PushFault(
        "connect",
        `no connection could be made (${why}): check that the bridge is running and reachable`,
      );
}

const SELF_SIGNED = "the certificate is self-signed; get one from a public authority";
const CHAIN =
  "the certificate's chain does not lead to a public authority; serve the intermediate certificates too";
const NO_TLS = "the server on this port does not speak TLS; is it plain HTTP?";

/** Explanations of the error codes of Node and OpenSSL, for the owner of the workspace. */
const TLS_WORDS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "the certificate has expired; renew it",
  CERT_NOT_YET_VALID: "the certificate is not valid yet; check the clock of the system that issued it",
  DEPTH_ZERO_SELF_SIGNED_CERT: SELF_SIGNED,
  SELF_SIGNED_CERT_IN_CHAIN: CHAIN,
  UNABLE_TO_GET_ISSUER_CERT: CHAIN,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: CHAIN,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: CHAIN,
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host; get one that names this host",
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  ECONNRESET: "the connection was closed during the handshake; is HTTPS served on this port?",
};

/**
 * Returns an explanation of a failed TLS handshake. `why` is the code of the error, or the message of an error
 * without a code.
 */
function tlsFailure(why: string): string {
  return `the TLS handshake failed (${why}): ${TLS_WORDS[why] ?? "check the certificate and its chain"}`;
}
