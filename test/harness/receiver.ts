import { createServer, type IncomingHttpHeaders } from "node:http";
import { isIPv6, type Socket } from "node:net";
import { createSecureContext, TLSSocket, type SecureContext, type SecureContextOptions } from "node:tls";
import { status, type Behaviour } from "./behaviours";
import { startFrontDoor, type ReceiverConnection, type Served, type Welcome } from "./front-door";
import type { Certificate, TestCa } from "./test-ca";
import { until } from "./wait";

/** A request as it came, recorded when its last byte was there. */
export interface ReceivedRequest {
  /** When its headers were there: `performance.now()`, and ms since the epoch. */
  readonly at: number;
  readonly atEpochMs: number;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  /** The exact bytes. */
  readonly body: Buffer;
  /** The number of the connection it came on; the same number again is a connection used again. */
  readonly connection: number;
  /** The name asked for in TLS (SNI). */
  readonly servername: string | undefined;
  /** 1 the first time that this `Service-Event-Id` came, 2 the second time, and so on. */
  readonly attempt: number;
}

/** A customer's bridge as the service sees it: a real server whose manners a test chooses. */
export interface Receiver {
  readonly host: string;
  readonly port: number;
  /** The target URL under the first of its names. */
  readonly url: string;
  urlOf(name: string, path?: string): string;
  readonly requests: readonly ReceivedRequest[];
  readonly connections: readonly ReceiverConnection[];
  /** Says how requests are answered from now on: all alike, or each as a function tells. */
  behave(behaviour: Behaviour | ((request: ReceivedRequest) => Behaviour)): void;
  /** Says what is done with connections from now on: all alike, or by their number. */
  welcome(welcome: Welcome | ((connection: number) => Welcome)): void;
  /** Waits until so many requests came and answers them all. */
  waitFor(count: number, withinMs?: number): Promise<readonly ReceivedRequest[]>;
  /** Waits for the request of that number, 1 for the first. */
  nth(number: number, withinMs?: number): Promise<ReceivedRequest>;
  /** Ends every connection at once and stops listening. */
  close(): Promise<void>;
}

export interface ReceiverOptions {
  /** Makes its certificate, for `names`. Without it and without `certificate` it speaks plain HTTP. */
  readonly ca?: TestCa;
  /** DNS names and IP addresses it is reached by; its host alone by default. */
  readonly names?: readonly string[];
  readonly host?: string;
  /** A free one by default. */
  readonly port?: number;
  /** Shown in place of a good one. */
  readonly certificate?: Certificate;
  /** More of TLS, such as maxVersion. */
  readonly tls?: SecureContextOptions;
  /** How long an idle connection is kept, and is announced to be kept, in whole seconds. */
  readonly keepAliveMs?: number;
}

/** Starts a receiver that answers 204 until it is told otherwise. */
export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const { host = "127.0.0.1", ca, keepAliveMs = 60_000 } = options;
  const names = options.names ?? [host];
  const secureContext = secureContextOf(options.certificate ?? ca?.issue(names), options.tls);
  const requests: ReceivedRequest[] = [];
  const attempts = new Map<string, number>();
  const served = new WeakMap<Socket, Served>();
  let behaviourFor: (request: ReceivedRequest) => Behaviour = () => status(204);

  // It is handed its connections and never listens, so that it ends none of its own accord but idle ones.
  const http = createServer({ keepAliveTimeout: keepAliveMs }, (incoming, response) => {
    const [at, atEpochMs, stream] = [performance.now(), Date.now(), incoming.socket];
    const { connection, tcp } = served.get(stream) ?? {};
    if (connection === undefined || tcp === undefined)
      throw new Error("a connection that nobody handed over");
    connection.servername = (stream instanceof TLSSocket && stream.servername) || undefined;
    // A client that leaves in the middle of its answer is what many tests are about.
    response.on("error", () => {});
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const id = String(incoming.headers["service-event-id"]);
      const attempt = (attempts.get(id) ?? 0) + 1;
      attempts.set(id, attempt);
      const { method = "", url: path = "", headers, rawHeaders } = incoming;
      const { number, servername } = connection;
      const what = { method, path, headers, rawHeaders, body: Buffer.concat(chunks) };
      const request = { ...what, at, atEpochMs, connection: number, servername, attempt };
      requests.push(request);
      behaviourFor(request).answer({ response, stream, tcp });
    });
  });
  const door = await startFrontDoor({
    host,
    port: options.port ?? 0,
    secureContext,
    serve(each) {
      served.set(each.stream, each);
      http.emit("connection", each.stream);
    },
  });

  const urlOf = (name: string, path = "/events") =>
    `http${secureContext ? "s" : ""}://${isIPv6(name) ? `[${name}]` : name}:${door.port}${path}`;
  const waitFor = async (count: number, withinMs?: number) => {
    const what = `${count} requests at ${host}:${door.port}, where ${requests.length} were before`;
    await until(what, () => requests.length >= count, withinMs);
    return requests.slice();
  };
  return {
    host,
    port: door.port,
    url: urlOf(names[0] ?? host),
    urlOf,
    requests,
    connections: door.connections,
    behave(how) {
      behaviourFor = typeof how === "function" ? how : () => how;
    },
    welcome: door.welcome,
    waitFor,
    async nth(number, withinMs) {
      const request = (await waitFor(number, withinMs))[number - 1];
      if (request === undefined) throw new Error("requests are counted from 1");
      return request;
    },
    close: door.close,
  };
}

function secureContextOf(
  certificate: Certificate | undefined,
  tls: SecureContextOptions = {},
): SecureContext | undefined {
  return certificate && createSecureContext({ cert: certificate.cert, key: certificate.key, ...tls });
}
