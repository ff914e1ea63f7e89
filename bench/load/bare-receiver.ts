import { createServer, type TLSSocket } from "node:tls";
import type { Certificate } from "./receive-pushes";

const HEAD_END = "\r\n\r\n";
const HEAD_MAX_BYTES = 8_192;
const LENGTH = /\r\ncontent-length: *(\d+)\r\n/i;
const ANSWERS: Readonly<Record<number, Buffer>> = {
  204: Buffer.from("HTTP/1.1 204 No Content\r\n\r\n"),
  500: Buffer.from("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"),
};

/** Returns the status of the answer, 204 or 500. `path` is the target of the request. */
type Judge = (path: string, body: Buffer) => number | Promise<number>;

/**
 * Creates a server that receives pushes as a bridge does, but with little work and garbage, because a receiver's pauses
 * would count as latency of the service. Each request must have a Content-Length, and a connection may have only one
 * request at a time. Otherwise, the server closes the connection.
 */
export function createBareReceiver({ key, cert }: Certificate, judge: Judge) {
  return createServer({ key, cert }, (socket) => {
    let begun: Buffer | undefined;
    socket.setNoDelay();
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk: Buffer) => {
      const bytes = begun === undefined ? chunk : Buffer.concat([begun, chunk]);
      const request = readRequest(bytes);
      if (request === "invalid") return void socket.destroy();
      begun = request === undefined ? bytes : undefined;
      if (request !== undefined) void answer(socket, judge(request.path, request.body));
    });
  });
}

async function answer(socket: TLSSocket, judged: number | Promise<number>): Promise<void> {
  const status = typeof judged === "number" ? judged : await judged;
  if (!socket.destroyed) socket.write(ANSWERS[status] ?? "");
}

/**
 * Returns the request; undefined if it is incomplete, and "invalid" if the bytes are not exactly one request with a
 * Content-Length.
 */
function readRequest(
  bytes: Buffer,
): { readonly path: string; readonly body: Buffer } | "invalid" | undefined {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0) return bytes.length > HEAD_MAX_BYTES ? "invalid" : undefined;
  const head = bytes.toString("latin1", 0, end + 2);
  const body = bytes.subarray(end + HEAD_END.length);
  const length = LENGTH.exec(head)?.[1];
  if (length === undefined || body.length > Number(length)) return "invalid";
  return body.length < Number(length) ? undefined : { path: head.split(" ", 2)[1] ?? "", body };
}
