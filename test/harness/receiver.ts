import { createServer, type IncomingHttpHeaders } from "node:http";
import { createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";
import { createSecureContext, TLSSocket, type SecureContextOptions } from "node:tls";
import { status, type Behaviour } from "./behaviours";
import type { Certificate } from "./test-ca";
import { until } from "./wait";

/** A complete request. */
export interface ReceivedRequest {
  /**
   * The time at which the headers arrived: `at` is a value of `performance.now()`, and `atEpochMs` is in ms since the
   * epoch.
   */
  readonly at: number;
  readonly atEpochMs: number;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Number of the connection. Requests with the same number arrived on the same connection. */
  readonly connection: number;
  /** The server name of the TLS handshake (SNI). */
  readonly servername: string | undefined;
  readonly isResumed: boolean;
  /** The number of requests so far with this `Service-Event-Id`, including this request. */
  readonly attempt: number;
}

/** A TCP connection to the receiver; `closedAt` is a value of `performance.now()`. */
interface Connection {
  readonly number: number;
  readonly tcp: Socket;
  closedAt?: number;
}

/**
 * How a new connection is handled. Only `serve` serves TLS and HTTP; `drip` sends a TLS handshake that never completes.
 */
export type Welcome = "serve" | "silence" | "reset" | "close" | "garbage" | "drip";

export interface ReceiverOptions {
  /** The TLS certificate; without a certificate, the receiver serves plain HTTP. */
  readonly certificate?: Certificate;
  /** DNS names and IP addresses of the receiver; by default, only the address in `host`. */
  readonly names?: readonly string[];
  readonly host?: string;
  /** The port on which the receiver listens; by default, a free port. */
  readonly port?: number;
  readonly tls?: SecureContextOptions;
}

/** A real HTTP server that stands in for a customer's bridge. A test sets the behaviour of the server. */
export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** Starts a receiver that answers with 204 until `behave` is called. */
export async function startReceiver(options: ReceiverOptions = {}) {
  const { host = "127.0.0.1", names = [host], certificate } = options;
  const secureContext =
    certificate && createSecureContext({ cert: certificate.cert, key: certificate.key, ...options.tls });
  const requests: ReceivedRequest[] = [];
  const connections: Connection[] = [];
  const attempts = new Map<string, number>();
  const open = new Map<Socket, Connection>();
  let welcome: Welcome = "serve";
  let behaviourFor: (request: ReceivedRequest) => Behaviour = () => status(204);

  // This server does not listen: the TCP server below passes each connection to it. For connections that are passed on,
  // Node enforces `keepAliveTimeout`, but not the timeouts for headers and requests.
  const http = createServer({ keepAliveTimeout: 60_000 }, (incoming, response) => {
    const [at, atEpochMs, stream] = [performance.now(), Date.now(), incoming.socket];
    const connection = open.get(stream);
    if (connection === undefined) throw new Error("a request on a closed connection");
    const tls = stream instanceof TLSSocket ? stream : undefined;
    const servername = tls?.servername || undefined;
    const isResumed = tls?.isSessionReused() ?? false;
    // In many tests, the client disconnects during the answer.
    response.on("error", () => {});
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const id = String(incoming.headers["service-event-id"]);
      const attempt = (attempts.get(id) ?? 0) + 1;
      attempts.set(id, attempt);
      const { method = "", url: path = "", headers } = incoming;
      const { number, tcp } = connection;
      const what = { method, path, headers, body: Buffer.concat(chunks) };
      const request = { ...what, at, atEpochMs, connection: number, servername, isResumed, attempt };
      requests.push(request);
      behaviourFor(request).answer({ response, stream, tcp });
    });
  });
  const server = createTcpServer((tcp) => {
    const connection: Connection = { number: connections.length + 1, tcp };
    connections.push(connection);
    const isSecured = welcome === "serve" && secureContext !== undefined;
    const stream = isSecured ? new TLSSocket(tcp, { isServer: true, secureContext }) : tcp;
    for (const each of [tcp, stream]) each.on("error", () => {});
    open.set(stream, connection);
    tcp.once("close", () => {
      connection.closedAt = performance.now();
      open.delete(stream);
    });
    if (welcome === "serve") return void http.emit("connection", stream);
    // Node notices that the client has closed the connection only if the socket is read.
    tcp.resume();
    if (welcome === "reset") tcp.resetAndDestroy();
    if (welcome === "close") tcp.end();
    if (welcome === "garbage") tcp.write("SSH-2.0-this is not a web server\r\n");
    if (welcome === "drip") dripHandshake(tcp);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(options.port ?? 0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;

  const urlOf = (name: string, path = "/events") =>
    `http${secureContext ? "s" : ""}://${name}:${port}${path}`;
  /** Waits until `count` requests have arrived, and returns all requests. */
  async function waitFor(count: number): Promise<readonly ReceivedRequest[]> {
    const what = `${count} requests at ${host}:${port}; ${requests.length} arrived before the wait`;
    await until(what, () => requests.length >= count);
    return requests.slice();
  }
  return {
    host,
    port,
    /** The target URL with the first of `names` as its host. */
    url: urlOf(names[0] ?? host),
    urlOf,
    requests: requests as readonly ReceivedRequest[],
    connections: connections as readonly Connection[],
    behave(how: Behaviour | ((request: ReceivedRequest) => Behaviour)) {
      behaviourFor = typeof how === "function" ? how : () => how;
    },
    welcome: (how: Welcome) => void (welcome = how),
    waitFor,
    /** Waits for request `number`, counted from 1. */
    async nth(number: number): Promise<ReceivedRequest> {
      const request = (await waitFor(number))[number - 1];
      if (request === undefined) throw new Error("requests are counted from 1");
      return request;
    },
    /** Closes every connection immediately, and stops listening. */
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      // Destroys the TLS socket, not the TCP socket below it: Node fails when the TCP socket closes during the
      // handshake.
      for (const stream of open.keys()) stream.destroy();
      await closed;
    },
  };
}

/** Sends the start of a 16 KB TLS handshake record with a server hello, and then one byte every 300 ms. */
function dripHandshake(tcp: Socket): void {
  tcp.write(Buffer.from([0x16, 0x03, 0x03, 0x40, 0x00, 0x02, 0x00, 0x3f, 0xfc, 0x03, 0x03]));
  const timer = setInterval(() => tcp.write("x"), 300);
  tcp.once("close", () => clearInterval(timer));
}
