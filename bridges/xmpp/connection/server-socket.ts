import { EventEmitter, once } from "node:events";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, type ServerAddress } from "./find-server";

export interface ServerSocketOptions {
  /** The domain of the account, which the server's certificate must name. */
  readonly domain: string;
  /** Certificates to trust instead of the usual authorities. */
  readonly ca: Buffer | undefined;
  readonly addresses: () => Promise<readonly ServerAddress[]>;
}

const CONNECT_WITHIN_MS = 20_000;
/**
 * Maximum number of characters that are read before encryption, and in one stanza. Servers allow stanzas of 64 to 512
 * KB.
 */
const HANDSHAKE_MAX = 65_536;
const STANZA_MAX = 2 * 1024 * 1024;

/**
 * A socket to the XMPP server for the library. The socket counts as connected only once it is encrypted, unless the
 * settings turn encryption off. The library's own sockets do not check the certificate against the domain, and cannot
 * use other authorities. They also corrupt characters that are split between two packets.
 */
export class ServerSocket extends EventEmitter {
  readonly #options: ServerSocketOptions;
  #socket: Socket | undefined;
  #isClosed = false;
  #isSecure = false;
  /** Characters since the last complete stanza. */
  #unread = 0;

  constructor(options: ServerSocketOptions) {
    super();
    this.#options = options;
  }

  /** The library reads this property, and sends a password in plain text only over a secure socket. */
  get secure(): boolean {
    return this.#isSecure;
  }

  connect(): void {
    this.#open().catch((error: unknown) => this.destroy(error as Error));
  }

  write(text: string, done: (error?: Error | null) => void): void {
    if (this.#socket === undefined || this.#isClosed) done(new Error("the connection is closed"));
    else this.#socket.write(text, done);
  }

  end(): void {
    if (this.#socket === undefined) this.destroy();
    else this.#socket.end();
  }

  /** Called when a stanza is complete. */
  stanzaRead(): void {
    this.#unread = 0;
  }

  destroy(error?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket?.destroy();
    if (error !== undefined) this.emit("error", error);
    this.emit("close", error !== undefined);
  }

  async #open(): Promise<void> {
    let last: unknown = new Error("the server has no address");
    for (const address of await this.#options.addresses()) {
      try {
        const socket = await openSocket(address, this.#options);
        this.#isSecure = address.encryption !== "off";
        return this.#attach(socket);
      } catch (error) {
        last = new Error(`${describe(address)}: ${(error as Error).message}`);
      }
    }
    throw last;
  }

  #attach(socket: Socket): void {
    if (this.#isClosed) return void socket.destroy();
    this.#socket = socket;
    socket
      .setEncoding("utf8")
      .setKeepAlive(true, 60_000)
      .on("data", (text: string) => this.#onData(text))
      .on("error", (error) => this.destroy(error))
      .on("close", () => this.destroy());
    this.emit("connect");
  }

  #onData(text: string): void {
    this.#unread += text.length;
    if (this.#unread > STANZA_MAX)
      return this.destroy(new Error("the server sent a stanza that is too long"));
    try {
      this.emit("data", text);
    } catch (error) {
      // The parser throws if the text is not XML.
      this.destroy(new Error(`the server sent what is not XML: ${(error as Error).message}`));
    }
  }
}

/** Resolves to a socket that is connected and encrypted. */
async function openSocket(
  { host, port, encryption }: ServerAddress,
  { domain, ca }: ServerSocketOptions,
): Promise<Socket> {
  const signal = AbortSignal.timeout(CONNECT_WITHIN_MS);
  const plain = connectTcp({ host, port });
  const fail = (): void => void plain.destroy(new Error(`no answer within ${CONNECT_WITHIN_MS / 1_000} s`));
  signal.addEventListener("abort", fail);
  try {
    await once(plain, "connect");
    if (encryption === "off") return plain;
    if (encryption === "starttls") await startTls(plain, domain);
    const name = isIP(domain) === 0 ? { servername: domain } : {};
    const alpn = encryption === "direct" ? { ALPNProtocols: ["xmpp-client"] } : {};
    const trusted = ca === undefined ? {} : { ca };
    const secure = connectTls({ socket: plain, host: domain, ...name, ...alpn, ...trusted });
    await once(secure, "secureConnect");
    return secure;
  } catch (error) {
    plain.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", fail);
  }
}

/** Asks the server to begin TLS (RFC 6120, section 5). */
async function startTls(socket: Socket, domain: string): Promise<void> {
  const streams = "http://etherx.jabber.org/streams";
  const header = `<stream:stream to="${domain}" version="1.0" xmlns="jabber:client" xmlns:stream="${streams}">`;
  socket.write(`<?xml version="1.0"?>${header}`);
  const features = await readUntil(socket, /<\/stream:features>|<stream:features\/>|<\/stream:stream>/);
  if (features.includes("host-unknown"))
    throw new Error(`the server does not serve ${domain}: check XMPP_JID`);
  if (!/<starttls[\s/>]/.test(features)) throw new Error("the server offers no encryption (STARTTLS)");
  socket.write('<starttls xmlns="urn:ietf:params:xml:ns:xmpp-tls"/>');
  const answer = await readUntil(socket, /<proceed[^>]*>|<failure[^>]*>|<\/stream:stream>/);
  // Nothing may follow the answer: an attacker could inject stanzas before the encryption begins.
  if (!/<proceed[^>]*\/>$|<proceed[^>]*><\/proceed>$/.test(answer.trim())) throw new Error("STARTTLS failed");
}

async function readUntil(socket: Socket, end: RegExp): Promise<string> {
  let text = "";
  for (;;) {
    const chunk = socket.read() as Buffer | null;
    if (chunk !== null) text += chunk.toString("latin1");
    if (end.test(text)) return text;
    if (text.length > HANDSHAKE_MAX) throw new Error("the server sent too much before the encryption");
    if (socket.readableEnded || socket.destroyed) throw new Error("the server closed the connection");
    if (chunk === null) await readableOrEnd(socket);
  }
}

function readableOrEnd(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error): void => {
      socket.off("readable", settle).off("end", settle).off("close", settle).off("error", settle);
      if (error === undefined) resolve();
      else reject(error);
    };
    socket.on("readable", settle).on("end", settle).on("close", settle).on("error", settle);
  });
}
