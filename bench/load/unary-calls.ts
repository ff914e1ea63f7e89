import { connect, type Socket } from "node:net";

// HTTP/2 (RFC 9113): types and flags of frames, settings, and sizes in bytes.
const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 } as const;
const FLAG = { ack: 1, endStream: 1, endHeaders: 4 } as const;
const SETTING = { headerTableSize: 1, enablePush: 2, initialWindowSize: 4 } as const;
const FRAME_HEAD_BYTES = 9;
const WINDOW_BYTES = 65_535;
const WINDOW_MAX_BYTES = 2 ** 31 - 1;

/** The end of a call. */
interface Ending {
  resolve(): void;
  reject(error: Error): void;
}

/**
 * Sends calls of one unary gRPC method to a server on this machine. The client does little work and creates little
 * garbage, because the pauses of the gRPC library's client would count as latency of the service. A call resolves when
 * it has ended, with any status. The answers are not read, so the caller must check the effects of the calls. If the
 * server closes an idle connection, the next call opens a new connection.
 *
 * @param address e.g. 127.0.0.1:9090
 * @param path e.g. /package.Service/Method
 */
export function createUnaryCalls(address: string, path: string, token: string) {
  const head = headerBlock({
    ":method": "POST",
    ":scheme": "http",
    ":path": path,
    ":authority": address,
    te: "trailers",
    "content-type": "application/grpc",
    authorization: `Bearer ${token}`,
  });
  let connection: Connection | undefined;
  return (message: Uint8Array): Promise<void> => {
    if (connection?.isOver !== false) connection = new Connection(address, head);
    const live = connection;
    return new Promise((resolve, reject) => live.call(message, { resolve, reject }));
  };
}

class Connection {
  isOver = false;
  readonly #head: Buffer;
  readonly #socket: Socket;
  /** The calls in progress, by the numbers of their streams. */
  readonly #open = new Map<number, Ending>();
  /** Calls that wait until the server has room for their bytes. */
  readonly #waiting: (readonly [Buffer, Ending])[] = [];
  #nextStream = 1;
  /** Number of bytes for which the server has room. */
  #window = WINDOW_BYTES;
  #unread: Buffer = Buffer.alloc(0);

  constructor(address: string, head: Buffer) {
    const [host = "", port] = address.split(":");
    this.#head = head;
    this.#socket = connect({ host, port: Number(port), noDelay: true });
    this.#socket.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#socket.on("error", (error) => this.#end(error));
    this.#socket.on("close", () => this.#end(new Error("core closed the connection during a call")));
    this.#socket.write(BEGINNING);
  }

  call(message: Uint8Array, ending: Ending): void {
    // The first byte says that the message is not compressed, and the next four bytes contain its length.
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    const body = Buffer.concat([prefix, message]);
    if (body.length > WINDOW_BYTES) return ending.reject(new Error("the message is too large for a window"));
    if (this.#waiting.length > 0 || body.length > this.#window) this.#waiting.push([body, ending]);
    else this.#send(body, ending);
  }

  #send(body: Buffer, ending: Ending): void {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.#window -= body.length;
    this.#open.set(stream, ending);
    const headers = frame(FRAME.headers, FLAG.endHeaders, stream, this.#head);
    this.#socket.write(Buffer.concat([headers, frame(FRAME.data, FLAG.endStream, stream, body)]));
  }

  #read(chunk: Buffer): void {
    const bytes = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    let at = 0;
    while (at + FRAME_HEAD_BYTES <= bytes.length) {
      const end = at + FRAME_HEAD_BYTES + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      const [type = 0, flags = 0] = bytes.subarray(at + 3, at + 5);
      this.#receive(type, flags, bytes.readUInt32BE(at + 5), bytes.subarray(at + FRAME_HEAD_BYTES, end));
      at = end;
    }
    this.#unread = bytes.subarray(at);
  }

  #receive(type: number, flags: number, stream: number, payload: Buffer): void {
    switch (type) {
      case FRAME.settings:
        if (!(flags & FLAG.ack)) this.#socket.write(frame(FRAME.settings, FLAG.ack, 0));
        return;
      case FRAME.ping:
        if (!(flags & FLAG.ack)) this.#socket.write(frame(FRAME.ping, FLAG.ack, 0, payload));
        return;
      case FRAME.windowUpdate:
        if (stream === 0) this.#widen(payload.readUInt32BE(0));
        return;
      case FRAME.goAway:
        return this.#end(new Error("core closed the connection during a call"));
      case FRAME.reset:
        this.#open.get(stream)?.reject(new Error("core reset a call"));
        return void this.#open.delete(stream);
      case FRAME.headers:
      case FRAME.data:
        if (!(flags & FLAG.endStream)) return;
        this.#open.get(stream)?.resolve();
        this.#open.delete(stream);
    }
  }

  #widen(bytes: number): void {
    this.#window += bytes;
    for (let next = this.#waiting[0]; next && next[0].length <= this.#window; next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#send(...next);
    }
  }

  #end(error: Error): void {
    this.isOver = true;
    for (const { reject } of this.#open.values()) reject(error);
    for (const [, { reject }] of this.#waiting.splice(0)) reject(error);
    this.#open.clear();
    this.#socket.destroy();
  }
}

/** The first bytes of a connection. They turn off the header table, and lift the bound on the bytes of answers. */
const BEGINNING = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1"),
  frame(
    FRAME.settings,
    0,
    0,
    Buffer.concat([
      setting(SETTING.headerTableSize, 0),
      setting(SETTING.enablePush, 0),
      setting(SETTING.initialWindowSize, WINDOW_MAX_BYTES),
    ]),
  ),
  frame(FRAME.windowUpdate, 0, 0, uint32(WINDOW_MAX_BYTES - WINDOW_BYTES)),
]);

function setting(name: number, value: number): Buffer {
  return Buffer.concat([Buffer.from([0, name]), uint32(value)]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/**
 * Encodes headers as literals without indexing (RFC 7541, section 6.2.2). Names and values may have at most 126 bytes.
 */
function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const text = (value: string): Buffer => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
  return Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]),
  );
}
