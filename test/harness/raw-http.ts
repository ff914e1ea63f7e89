import { connect, type Socket } from "node:net";
import { HANG_MS } from "./wait";

/** An HTTP answer. In `headers`, the names of header fields are in lower case. */
interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Opens a connection, sends `write`, and returns the answers. If `write` is a function, it is called with the socket.
 * @param until number of answers after which the client closes its side of the connection; by default, the client waits
 * until the server closes it
 * @param from local address to send from
 */
export function exchange(
  base: string,
  write: string | Buffer | ((socket: Socket) => void),
  { until = Infinity, from: localAddress }: { readonly until?: number; readonly from?: string } = {},
): Promise<{ readonly answers: readonly RawAnswer[] }> {
  const { hostname: host, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const received: Buffer[] = [];
    const answers = () => parseAnswers(Buffer.concat(received));
    const socket = connect({ host, port: Number(port), ...(localAddress && { localAddress }) });
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`the connection was still open after ${HANG_MS} ms`));
    }, HANG_MS);
    socket.on("connect", () => (typeof write === "function" ? write(socket) : socket.write(write)));
    socket.on("data", (chunk: Buffer) => {
      received.push(chunk);
      if (until < Infinity && answers().length >= until) socket.end();
    });
    // The server may reset the connection after its answer. "close" follows every "error".
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(timer);
      resolve({ answers: answers() });
    });
  });
}

export async function statusesOf(...sent: Parameters<typeof exchange>): Promise<readonly number[]> {
  return (await exchange(...sent)).answers.map(({ status }) => status);
}

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

/** Returns the bytes of a request. Adds a `Content-Length` header. */
export function rawRequest(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body: string | Buffer = "",
): Buffer {
  const all = { Host: "bridge.test", ...headers, "Content-Length": String(Buffer.byteLength(body)) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}
