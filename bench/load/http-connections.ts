import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Measure } from "../slices";
import { spreadOf } from "../statistics";
import { clearAnswer, newAnswer, readAnswer } from "./http-answer";

/** The result of a run of load over HTTP, with the bytes of all bodies. */
export interface HttpMeasure extends Measure {
  readonly bodyBytes: number;
}

/** The user of a connection. */
interface User {
  answered(status: number, bodyBytes: number): void;
  failed(error: Error): void;
}

const CHUNK_BYTES = 65_536;
const ANSWER_WITHIN_MS = 10_000;
const NOBODY: User = { answered: () => undefined, failed: () => undefined };

/**
 * Opens connections to one HTTP server, each with at most one request in flight. They stay open between runs.
 *
 * @param origin the origin of an HTTP server on this machine, e.g. http://127.0.0.1:8080
 */
export function createHttpConnections(origin: string, count: number) {
  // All connections read into this buffer: a connection's chunk is handled before the next chunk is read.
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  const connections = Array.from({ length: count }, () => createConnection(origin, chunk));
  return {
    /** Opens the connections that are not open. */
    async open(): Promise<void> {
      for (const connection of connections) await connection.open();
    },
    /**
     * Sends requests over all connections for `seconds`, and waits until all of them are answered. Rejects unless every
     * answer is a 2xx, and its body has `expectedBytes` if that is set.
     *
     * @param next returns the next request of the connection with this number; undefined if there is none
     */
    async run(
      seconds: number,
      next: (connection: number) => Buffer | undefined,
      expectedBytes?: number,
    ): Promise<HttpMeasure> {
      const latencies: number[] = [];
      let bodyBytes = 0;
      let busy = count;
      let timer: NodeJS.Timeout | undefined;
      const fromMs = Date.now();
      const endsAt = performance.now() + seconds * 1000;
      try {
        await new Promise<void>((resolve, reject) => {
          timer = setTimeout(
            () => reject(new Error(`${origin} did not answer ${busy} requests`)),
            seconds * 1000 + ANSWER_WITHIN_MS,
          );
          for (const [number, connection] of connections.entries()) {
            let sentAt = performance.now();
            const send = (): void => {
              const request = sentAt < endsAt ? next(number) : undefined;
              if (request !== undefined) connection.send(request);
              else if (--busy === 0) resolve();
            };
            connection.use({
              answered(status, bytes) {
                if (status < 200 || status > 299 || bytes !== (expectedBytes ?? bytes))
                  return reject(new Error(`${origin} answered with ${status} and ${bytes} bytes`));
                const at = performance.now();
                latencies.push(at - sentAt);
                bodyBytes += bytes;
                sentAt = at;
                send();
              },
              failed: reject,
            });
            send();
          }
        });
      } finally {
        clearTimeout(timer);
        for (const connection of connections) connection.use(NOBODY);
      }
      const { p50, p99 } = spreadOf(latencies);
      return { count: latencies.length, fromMs, toMs: Date.now(), bodyBytes, p50Ms: p50, p99Ms: p99 };
    },
  };
}

/** @param chunk the buffer into which the connection reads */
function createConnection(origin: string, chunk: Buffer) {
  const { hostname: host, port } = new URL(origin);
  const answer = newAnswer();
  let user = NOBODY;
  let open: Socket | undefined;

  function read(size: number): boolean {
    try {
      if (readAnswer(answer, chunk, size)) {
        const { status, bodyBytes } = answer;
        clearAnswer(answer);
        user.answered(status, bodyBytes);
      }
      return true;
    } catch (error) {
      user.failed(error as Error);
      return false;
    }
  }

  return {
    async open(): Promise<void> {
      if (open !== undefined) return;
      const socket = connect({ host, port: Number(port), onread: { buffer: chunk, callback: read } });
      await once(socket, "connect");
      socket.setNoDelay();
      socket.on("error", (error) => user.failed(error));
      socket.on("close", () => {
        open = undefined;
        user.failed(new Error(`${origin} closed a connection`));
      });
      open = socket;
    },
    send: (request: Buffer): void => void open?.write(request),
    use(next: User): void {
      user = next;
    },
  };
}
