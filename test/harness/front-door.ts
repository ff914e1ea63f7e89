import { createServer, type AddressInfo, type Socket } from "node:net";
import { TLSSocket, type SecureContext } from "node:tls";

/** A TCP connection, from its acceptance on. The fields change while it lives. */
export interface ReceiverConnection {
  /** 1 for the first. */
  readonly number: number;
  readonly from: string;
  /** `performance.now()` of both. */
  readonly openedAt: number;
  readonly closedAt: number | undefined;
  /** The name asked for in TLS (SNI), known once a request came. */
  readonly servername: string | undefined;
  /** The code of what broke it first, such as ECONNRESET. */
  readonly error: string | undefined;
}

/** What is done with a connection as it comes: only `serve` lets it speak TLS and HTTP. `drip` never ends its handshake. */
export type Welcome = "serve" | "silence" | "reset" | "close" | "garbage" | "drip";

/** What HTTP is spoken over, the TCP connection below it (itself, where there is no TLS), and its record. */
export interface Served {
  readonly stream: Socket;
  readonly tcp: Socket;
  readonly connection: { -readonly [Field in keyof ReceiverConnection]: ReceiverConnection[Field] };
}

/** Where connections arrive, before any HTTP. */
export interface FrontDoor {
  readonly port: number;
  readonly connections: readonly ReceiverConnection[];
  welcome(welcome: Welcome | ((connection: number) => Welcome)): void;
  close(): Promise<void>;
}

export interface FrontDoorOptions {
  readonly host: string;
  readonly port: number;
  readonly secureContext: SecureContext | undefined;
  /** Takes a connection that is served; the handshake of its TLS may be yet to come. */
  readonly serve: (served: Served) => void;
}

export async function startFrontDoor({
  host,
  port,
  secureContext,
  serve,
}: FrontDoorOptions): Promise<FrontDoor> {
  const connections: Served["connection"][] = [];
  const open = new Set<Socket>();
  let welcomeFor: (connection: number) => Welcome = () => "serve";

  const server = createServer((tcp) => {
    const connection: Served["connection"] = {
      number: connections.length + 1,
      from: tcp.remoteAddress ?? "",
      openedAt: performance.now(),
      closedAt: undefined,
      servername: undefined,
      error: undefined,
    };
    const noteError = (error: NodeJS.ErrnoException) => {
      connection.error ??= error.code ?? error.message;
    };
    connections.push(connection);
    tcp.on("error", noteError);
    const welcome = welcomeFor(connection.number);
    const isSecured = welcome === "serve" && secureContext !== undefined;
    const stream = isSecured ? new TLSSocket(tcp, { isServer: true, secureContext }) : tcp;
    if (isSecured) stream.on("error", noteError);
    open.add(stream);
    tcp.once("close", () => {
      connection.closedAt = performance.now();
      open.delete(stream);
    });
    if (welcome === "serve") return serve({ stream, tcp, connection });
    // What it says is read, so that its leaving is noticed.
    tcp.resume();
    if (welcome === "reset") tcp.resetAndDestroy();
    if (welcome === "close") tcp.end();
    if (welcome === "garbage") tcp.write("SSH-2.0-this is not a web server\r\n");
    if (welcome === "drip") dripHandshake(tcp);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, resolve);
  });

  return {
    port: (server.address() as AddressInfo).port,
    connections,
    welcome(how) {
      welcomeFor = typeof how === "function" ? how : () => how;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      // From the top: Node minds TLS being torn down from below in the middle of its handshake.
      for (const stream of open) stream.destroy();
      await closed;
    },
  };
}

/** Begins a TLS handshake record of 16 KB, whose server hello says it is as long, and sends a byte of it now and then. */
function dripHandshake(tcp: Socket): void {
  tcp.write(Buffer.from([0x16, 0x03, 0x03, 0x40, 0x00, 0x02, 0x00, 0x3f, 0xfc, 0x03, 0x03]));
  const timer = setInterval(() => tcp.write("x"), 300);
  tcp.once("close", () => clearInterval(timer));
}
