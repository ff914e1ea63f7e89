import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { FollowResponse } from "../../proto/gen/chatbridge/v1/game";

/** How a stand-in for core, or for a proxy in front of core, reacts when `Follow` is called. */
export interface OddCall {
  readonly name: string;
  /** Handles the call instead of core. `socket` is the connection of the call. */
  readonly stream?: (stream: ServerHttp2Stream, socket: Socket) => void;
  /** Handles the connection of the call instead of an HTTP/2 server. */
  readonly connection?: (socket: Socket) => void;
  /** Whether all later calls are handled in the same way. */
  readonly isLasting?: true;
  /** The required behaviour of a connected `tail` after this reaction: continue, or exit with a message. */
  readonly tail: "continue" | "exit";
}

/** Returns a gRPC message with the header that precedes it in an HTTP/2 stream. */
function frame(message: Uint8Array, { length = message.length, isCompressed = false } = {}): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(isCompressed ? 1 : 0, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

const GRPC = { ":status": 200, "content-type": "application/grpc" };
const encoded = (response: FollowResponse) => frame(FollowResponse.encode(response).finish());
const opened = FollowResponse.create({ say: { $case: "opened", value: {} } });
const deliveryOf = (text: string) =>
  FollowResponse.create({
    say: {
      $case: "delivery",
      value: {
        deliveryId: text,
        received: { workspaceId: "w1", event: { id: text, kind: { $case: "command", value: { text } } } },
      },
    },
  });

const HTML = "<html>Bad gateway</html>";
const page = (status: number) => (stream: ServerHttp2Stream) => {
  stream.respond({ ":status": status, "content-type": "text/html" });
  stream.end(HTML);
};
/** Answers the call like core at first, and then calls `act`, which interrupts the call. */
const thenDo =
  (act: (stream: ServerHttp2Stream, socket: Socket) => void) =>
  (stream: ServerHttp2Stream, socket: Socket) => {
    stream.respond(GRPC);
    stream.write(encoded(opened), () => act(stream, socket));
  };
const trailing = (status: number) => (stream: ServerHttp2Stream) => {
  stream.respond({ ...GRPC, "grpc-status": String(status), "grpc-message": "a proxy" }, { endStream: true });
};
/** Codes of HTTP/2 errors (RFC 9113, section 7). */
const RST = { NO_ERROR: 0, INTERNAL_ERROR: 2, REFUSED_STREAM: 7, CANCEL: 8, ENHANCE_YOUR_CALM: 11 };

/** All odd reactions to a call, each with the required behaviour of `tail`. */
export const ODD_CALLS: readonly OddCall[] = [
  ...[502, 503, 504, 429].map((status) => ({
    name: `HTTP/2 ${status} with an HTML page`,
    stream: page(status),
    tail: "continue" as const,
  })),
  ...[401, 403, 404].map((status) => ({
    name: `HTTP/2 ${status} with an HTML page`,
    stream: page(status),
    tail: "exit" as const,
  })),
  ...Object.entries(RST).flatMap(([name, code]) => [
    {
      name: `RST_STREAM ${name} before the answer`,
      stream: (stream: ServerHttp2Stream) => stream.close(code),
      tail: "continue" as const,
    },
    {
      name: `RST_STREAM ${name} during the answer`,
      stream: thenDo((stream) => stream.close(code)),
      tail: "continue" as const,
    },
  ]),
  {
    name: "GOAWAY during the answer",
    stream: thenDo((stream) => stream.session?.goaway(0)),
    tail: "continue",
  },
  {
    name: "GOAWAY with an error during the answer",
    stream: thenDo((stream) => stream.session?.destroy(undefined, RST.INTERNAL_ERROR)),
    tail: "continue",
  },
  {
    name: "a reset during the answer",
    stream: thenDo((_, socket) => socket.resetAndDestroy()),
    tail: "continue",
  },
  {
    name: "the end of the connection during the answer",
    stream: thenDo((_, socket) => socket.destroy()),
    tail: "continue",
  },
  {
    name: "the end of the stream without a status",
    stream: thenDo((stream) => stream.end(() => stream.close())),
    tail: "continue",
  },
  { name: "the status UNAVAILABLE", stream: trailing(14), tail: "continue" },
  { name: "the status UNAUTHENTICATED", stream: trailing(16), tail: "exit" },
  { name: "the status INTERNAL, once", stream: trailing(13), tail: "continue" },
  { name: "the status INTERNAL, again and again", stream: trailing(13), isLasting: true, tail: "exit" },
  {
    name: "a message that is cut off",
    stream: thenDo((stream) => stream.end(frame(Buffer.from("x"), { length: 100 }), () => stream.close())),
    tail: "continue",
  },
  {
    name: "a message of 4 GB",
    stream: thenDo((stream) => stream.write(frame(Buffer.from("x"), { length: 0xffff_ffff }))),
    tail: "continue",
  },
  {
    name: "HTTP/1.1 502 with an HTML page",
    connection: (socket) => void socket.end(`HTTP/1.1 502 Bad Gateway\r\nContent-Length: 24\r\n\r\n${HTML}`),
    tail: "continue",
  },
  {
    name: "a banner of SSH",
    connection: (socket) => void socket.end("SSH-2.0-OpenSSH_9.2p1\r\n"),
    tail: "continue",
  },
  { name: "a reset of the connection", connection: (socket) => socket.resetAndDestroy(), tail: "continue" },
];

/**
 * Starts a stand-in for core. The first call of `Follow` gets the event `before`, and then the stand-in closes the
 * connection. The second call gets the odd answer. Every later call gets the event `after`, or, if `isLasting` is set,
 * the odd answer again.
 */
export async function startOddCore(odd: OddCall) {
  let calls = 0;
  let isOddDone = false;
  const sockets = new Map<number | undefined, Socket>();
  const http2 = createHttp2Server();
  http2.on("sessionError", () => undefined);
  http2.on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => undefined);
    stream.resume();
    const socket = sockets.get(stream.session?.socket.remotePort);
    calls += 1;
    const isOdd = calls === 2 || (calls > 2 && odd.isLasting === true);
    if (isOdd && odd.stream !== undefined && socket !== undefined) return odd.stream(stream, socket);
    stream.respond(GRPC);
    stream.write(encoded(opened));
    const text = calls === 1 ? "before" : "after";
    stream.write(encoded(deliveryOf(text)), () => calls === 1 && setImmediate(() => socket?.end()));
  });
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    sockets.set(socket.remotePort, socket);
    if (calls === 1 && odd.connection !== undefined && !isOddDone) {
      isOddDone = true;
      return odd.connection(socket);
    }
    http2.emit("connection", socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close(): Promise<void> {
      for (const socket of sockets.values()) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
