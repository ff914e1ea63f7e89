import { once } from "node:events";
import { createServer, type AddressInfo, type Server as NetServer, type Socket } from "node:net";
import { experimental, Server, ServerCredentials } from "@grpc/grpc-js";
import type { Certificates } from "../../runtime/certificates";
import type { AcceptedTokens } from "./accepted-tokens";
import { createAuthorization, type Connection } from "./authorization";
import type { CallPace } from "./call-pace";

export interface ListenerOptions {
  /** Port 0 selects a free port. */
  readonly at: { readonly host: string; readonly port: number };
  readonly tokens: AcceptedTokens;
  readonly pace: CallPace;
  /**
   * The server's certificate and key. With `ca`, callers must present a certificate that this CA has issued (mutual TLS,
   * mTLS).
   */
  readonly tls: Certificates | undefined;
  /** Limits the open connections of the listener. */
  limitConnections(listener: NetServer): void;
}

/** Time limits for silent connections. */
export interface Patience {
  /** Milliseconds that a connection may stay open without an accepted call. */
  readonly silentMs: number;
  /** Milliseconds between core's pings of a connection. */
  readonly pingEveryMs: number;
  /** Milliseconds within which a ping must be answered. */
  readonly pongWithinMs: number;
}

/**
 * Maximum size of a gRPC message in bytes, enough for 100 published events of the largest size. gRPC rejects a larger
 * request with RESOURCE_EXHAUSTED.
 */
const MESSAGE_MAX_BYTES = 8 * 1024 * 1024;
const FINISH_WITHIN_MS = 5_000;
const PATIENCE: Patience = { silentMs: 15_000, pingEveryMs: 30_000, pongWithinMs: 10_000 };

/**
 * Listens for gRPC calls to the services that `addServices` adds, and checks the tokens of these calls.
 *
 * A connection is closed if no call with a token of the right role arrives within `silentMs`. So a connection is
 * also closed if it sends only half of a TLS handshake, only part of the HTTP/2 preface, or only rejected calls. A call
 * to a service that does not require a token restarts the timeout. After an accepted call with a token, the connection
 * stays open as long as it answers pings.
 */
export async function listen(
  { at, tokens, pace, tls, limitConnections }: ListenerOptions,
  addServices: (server: Server) => void,
  { silentMs, pingEveryMs, pongWithinMs }: Patience = PATIENCE,
) {
  const connections = createConnections(silentMs);
  const server = new Server({
    interceptors: [createAuthorization(tokens, pace, connections.onCall)],
    "grpc.max_receive_message_length": MESSAGE_MAX_BYTES,
    "grpc.max_send_message_length": MESSAGE_MAX_BYTES,
    // Channelz collects statistics during each call, which takes time, and nothing in core reads these statistics.
    "grpc.enable_channelz": 0,
    "grpc.keepalive_time_ms": pingEveryMs,
    "grpc.keepalive_timeout_ms": pongWithinMs,
  });
  addServices(server);
  const isMutual = tls?.files.ca !== undefined;
  // gRPC 1.14 names these parameters the other way round: the first provides the server's certificate, the second the CA.
  const credentials = tls
    ? experimental.createCertificateProviderServerCredentials(tls, isMutual ? tls : null, isMutual)
    : ServerCredentials.createInsecure();
  // gRPC's own listener does not expose its sockets.
  const injector = server.createConnectionInjector(credentials);
  const listener = createServer((socket) => {
    if (socket.destroyed) return;
    connections.add(socket);
    injector.injectConnection(socket);
  });
  limitConnections(listener);
  listener.listen(at.port, at.host);
  await once(listener, "listening");

  async function finish(): Promise<void> {
    const lastIsClosed = once(listener, "close");
    listener.close();
    connections.endSilent();
    // The callback does nothing, because gRPC calls it too early on Node 24 and later, and never after a ping timeout.
    server.tryShutdown(() => undefined);
    const late = setTimeout(() => connections.endAll(), FINISH_WITHIN_MS);
    await lastIsClosed;
    clearTimeout(late);
    server.forceShutdown();
  }

  let closing: Promise<void> | undefined;
  return {
    port: (listener.address() as AddressInfo).port,
    /** Stops accepting calls, and aborts calls that have not finished within 5 seconds. */
    close: (): Promise<void> => (closing ??= finish()),
  };
}

/** Tracks the open connections, and closes those that do not make a call with a token within `silentMs`. */
function createConnections(silentMs: number) {
  interface Open {
    readonly socket: Socket;
    readonly timer: NodeJS.Timeout;
    isSilent: boolean;
  }
  const open = new Map<string, Open>();

  return {
    add(socket: Socket): void {
      const key = keyOf(socket);
      const timer = setTimeout(() => socket.destroy(), silentMs);
      open.set(key, { socket, timer, isSilent: true });
      socket.once("close", () => {
        clearTimeout(timer);
        open.delete(key);
      });
    },
    /** Records an accepted call. */
    onCall(connection: Connection, neededToken: boolean): void {
      const known = open.get(keyOf(connection));
      if (known === undefined || !known.isSilent) return;
      known.isSilent = !neededToken;
      if (neededToken) clearTimeout(known.timer);
      else known.timer.refresh();
    },
    endSilent(): void {
      for (const { socket, isSilent } of open.values()) if (isSilent) socket.destroy();
    },
    endAll(): void {
      for (const { socket } of open.values()) socket.destroy();
    },
  };
}

/** Returns a string made of the four values that identify an open connection. */
function keyOf({ localAddress, localPort, remoteAddress, remotePort }: Connection): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}
