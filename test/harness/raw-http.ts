import { connect, type Socket } from "node:net";
import { HANG_MS } from "./wait";

/** An answer as it stood on the wire. */
export interface RawAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Exchange {
  readonly answers: readonly RawAnswer[];
  /** From the first byte sent until the other side had ended the connection. */
  readonly ms: number;
}

export interface ExchangeOptions {
  /** End our own side once this many answers are there; otherwise wait until the other side does. */
  readonly until?: number;
  /** Local address to send from. */
  readonly from?: string;
  readonly withinMs?: number;
}

/** Sends exact bytes, or whatever `write` writes, on a connection of its own, and gathers the answers. */
export function exchange(
  base: string,
  write: string | Buffer | ((socket: Socket) => void),
  { until = Infinity, from, withinMs = HANG_MS }: ExchangeOptions = {},
): Promise<Exchange> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const received: Buffer[] = [];
    let ended = 0;
    const socket = connect({
      host: hostname,
      port: Number(port),
      ...(from === undefined ? {} : { localAddress: from }),
    });
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`the connection still stood after ${withinMs} ms`));
    }, withinMs);
    socket.on("connect", () => (typeof write === "function" ? write(socket) : socket.write(write)));
    socket.on("data", (chunk: Buffer) => {
      received.push(chunk);
      // Cheap enough to tell when it is worth parsing.
      if (until < Infinity && parseAnswers(Buffer.concat(received)).length >= until) socket.end();
    });
    socket.on("end", () => (ended = performance.now()));
    // A reset after the answer ends the connection too.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(timer);
      resolve({
        answers: parseAnswers(Buffer.concat(received)),
        ms: (ended === 0 ? performance.now() : ended) - began,
      });
    });
  });
}

/** The statuses of the answers of an exchange. */
export async function statusesOf(...sent: Parameters<typeof exchange>): Promise<readonly number[]> {
  return (await exchange(...sent)).answers.map(({ status }) => status);
}

/** The whole answers at the beginning of `bytes`. */
export function parseAnswers(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let at = 0; ;) {
    const endOfHead = bytes.indexOf("\r\n\r\n", at);
    if (endOfHead < 0) return answers;
    const [statusLine = "", ...lines] = bytes.subarray(at, endOfHead).toString("latin1").split("\r\n");
    const status = Number(statusLine.split(" ")[1]);
    const headers = Object.fromEntries(
      lines.map((line): [string, string] => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const end = endOfHead + 4 + (status < 200 ? 0 : Number(headers["content-length"] ?? 0));
    if (end > bytes.length) return answers;
    if (status >= 200) answers.push({ status, headers, body: bytes.subarray(endOfHead + 4, end).toString() });
    at = end;
  }
}

/** A request as bytes; the length of its body is added to its headers. */
export function rawRequest(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body: string | Buffer = "",
): Buffer {
  const all = { Host: "bridge.test", ...headers, "Content-Length": String(Buffer.byteLength(body)) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`),
    Buffer.from(body),
  ]);
}
