import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { createAuthorization, type Connection, type KnownToken } from "./authorization";

export interface ListenerOptions {
  /** Port 0 takes a free one. */
  readonly at: { readonly host: string; readonly port: number };
  readonly tokens: readonly KnownToken[];
  /** PEM; with a client CA callers must show a certificate of it. */
  readonly tls:
    { readonly cert: Buffer; readonly key: Buffer; readonly clientCa: Buffer | undefined } | undefined;
}

/** How long the two ends of a connection may be silent. */
export interface Patience {
  /** How long a connection may stay without a call that core lets through. */
  readonly silentMs: number;
  /** How often core pings a connection, and how soon it must be answered. */
  readonly pingEveryMs: number;
  readonly pongWithinMs: number;
}

export interface RpcServer {
  readonly port: number;
  /** Stops accepting, lets calls finish for a while, then cuts them. */
  close(): Promise<void>;
}

/** Above 100 published events of the largest size. */
const MESSAGE_MAX_BYTES = 8 * 1024 * 1024;
const FINISH_WITHIN_MS = 5_000;
const PATIENCE: Patience = { silentMs: 15_000, pingEveryMs: 30_000, pongWithinMs: 10_000 };

/**
 * Listens for gRPC. `addServices` says what is served; tokens are checked before.
 *
 * A connection ends when `silentMs` have passed and no call with a token of the right
 * role has come, whether it has sent nothing, half of a TLS handshake, a slow preface,
 * or only calls that were refused; a call that needs no token begins that time again.
 * A connection that has had its call stays as long as it answers pings, however
 * seldom it calls.
 */
export async function listen(
  { at, tokens, tls }: ListenerOptions,
  addServices: (server: Server) => void,
  { silentMs, pingEveryMs, pongWithinMs }: Patience = PATIENCE,
): Promise<RpcServer> {
  const connections = createConnections(silentMs);
  const server = new Server({
    interceptors: [createAuthorization(tokens, connections.onCall)],
    "grpc.max_receive_message_length": MESSAGE_MAX_BYTES,
    "grpc.max_send_message_length": MESSAGE_MAX_BYTES,
    "grpc.keepalive_time_ms": pingEveryMs,
    "grpc.keepalive_timeout_ms": pongWithinMs,
  });
  addServices(server);
  const credentials = tls
    ? ServerCredentials.createSsl(
        tls.clientCa ?? null,
        [{ cert_chain: tls.cert, private_key: tls.key }],
        tls.clientCa !== undefined,
      )
    : ServerCredentials.createInsecure();
  // gRPC's own listener shows nobody its sockets.
  const injector = server.createConnectionInjector(credentials);
  const listener = createServer((socket) => {
    connections.add(socket);
    injector.injectConnection(socket);
  });
  listener.listen(at.port, at.host);
  await once(listener, "listening");

  async function finish(): Promise<void> {
    const lastIsClosed = once(listener, "close");
    listener.close();
    connections.endSilent();
    // Its callback is of no use: from Node 24 on it comes at once, and after a ping timeout never.
    server.tryShutdown(() => undefined);
    const late = setTimeout(() => connections.endAll(), FINISH_WITHIN_MS);
    await lastIsClosed;
    clearTimeout(late);
    server.forceShutdown();
  }

  let closing: Promise<void> | undefined;
  return {
    port: (listener.address() as AddressInfo).port,
    close: () => (closing ??= finish()),
  };
}

/** The connections that are open, and for those without a call so far, how long they may stay. */
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
    /** Takes note of a call that was let through. */
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

/** No two connections that are open at once have the same four. */
function keyOf({ localAddress, localPort, remoteAddress, remotePort }: Connection): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}
