import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Measure } from "../slices";
import { spreadOf } from "../statistics";
import { clearAnswer, newAnswer, readAnswer } from "./http-answer";

/** The result of a run of HTTP load, with the number of bytes of all bodies. */
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
/** Milliseconds between two checks for requests that are due. */
const TICK_MS = 1;
const NOBODY: User = { answered: () => undefined, failed: () => undefined };

/**
 * Creates connections to one HTTP server, each with at most one request in flight. The connections stay open between
 * runs.
 *
 * @param origin the origin of an HTTP server on this machine, e.g. http://127.0.0.1:8080
 */
export function createHttpConnections(origin: string, count: number) {
  // All connections read into this buffer: a connection's chunk is handled before the next chunk is read.
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  const connections = Array.from({ length: count }, () => createConnection(origin, chunk));

  return {
    /** Opens the connections that are not open yet. */
    async open(): Promise<void> {
      for (const connection of connections) await connection.open();
    },
    /**
     * Sends requests over all connections for `seconds`, and waits until all of them are answered. Rejects unless every
     * answer is a 2xx, and each body has `expectedBytes` bytes, if `expectedBytes` is set.
     *
     * @param next returns the next request for the connection with this number; undefined if there are no more requests
     */
    async run(
      seconds: number,
      next: (connection: number) => Buffer | undefined,
      expectedBytes?: number,
    ): Promise<HttpMeasure> {
      const latencies: number[] = [];
      let bodyBytes = 0;
      let busy = count;
      const fromMs = Date.now();
      const endsAt = performance.now() + seconds * 1000;
      await useUntilDone(origin, connections, seconds, (resolve, reject) => {
        for (const [number, connection] of connections.entries()) {
          let sentAt = performance.now();
          const send = (): void => {
            const request = sentAt < endsAt ? next(number) : undefined;
            if (request !== undefined) connection.send(request);
            else if (--busy === 0) resolve();
          };
          connection.use({
            answered(status, bytes) {
              const fault = faultOf(origin, status, bytes, expectedBytes);
              if (fault !== undefined) return reject(fault);
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
      const { p50, p99 } = spreadOf(latencies);
      return { count: latencies.length, fromMs, toMs: Date.now(), bodyBytes, p50Ms: p50, p99Ms: p99 };
    },
    /**
     * Sends the requests at a fixed rate, which does not depend on how long the answers take. If no connection is free
     * when a request is due, the request waits. When all requests are answered, resolves with the milliseconds from
     * each request's due time until its answer. Rejects unless every answer is a 2xx.
     */
    runAtRate: (perSecond: number, requests: readonly Buffer[]): Promise<readonly number[]> =>
      runAtRate(origin, connections, perSecond, requests),
  };
}

type Connection = ReturnType<typeof createConnection>;

/**
 * Calls `start`, which uses the connections until it calls `resolve`. Rejects if not all requests are answered in time.
 */
async function useUntilDone(
  origin: string,
  connections: readonly Connection[],
  seconds: number,
  start: (resolve: () => void, reject: (error: Error) => void) => void,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(
        () => reject(new Error(`${origin} did not answer all requests in time`)),
        seconds * 1000 + ANSWER_WITHIN_MS,
      );
      start(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
    for (const connection of connections) connection.use(NOBODY);
  }
}

/** Returns an error if an answer is not as expected, and undefined otherwise. */
function faultOf(origin: string, status: number, bytes: number, expectedBytes = bytes): Error | undefined {
  if (status >= 200 && status <= 299 && bytes === expectedBytes) return undefined;
  return new Error(`${origin} answered with ${status} and ${bytes} bytes`);
}

async function runAtRate(
  origin: string,
  connections: readonly Connection[],
  perSecond: number,
  requests: readonly Buffer[],
): Promise<readonly number[]> {
  const latencies = Array.from(requests, () => 0);
  const began = performance.now() + TICK_MS;
  const dueAt = (number: number): number => began + (number * 1000) / perSecond;
  /** The connections take turns. */
  const free = Array.from(connections.keys());
  /** The number of the request that each connection has in flight. */
  const inFlight = Array.from(connections, () => 0);
  let sent = 0;
  let answered = 0;
  const sendDue = (): void => {
    const now = performance.now();
    for (
      let request = requests[sent];
      request !== undefined && dueAt(sent) <= now;
      request = requests[sent]
    ) {
      const number = free.shift();
      if (number === undefined) return;
      inFlight[number] = sent++;
      connections[number]?.send(request);
    }
  };
  const ticks = setInterval(sendDue, TICK_MS);
  try {
    await useUntilDone(origin, connections, requests.length / perSecond, (resolve, reject) => {
      if (requests.length === 0) resolve();
      for (const [number, connection] of connections.entries()) {
        connection.use({
          answered(status, bytes) {
            const fault = faultOf(origin, status, bytes);
            if (fault !== undefined) return reject(fault);
            const request = inFlight[number] ?? 0;
            latencies[request] = performance.now() - dueAt(request);
            free.push(number);
            sendDue();
            if (++answered === requests.length) resolve();
          },
          failed: reject,
        });
      }
    });
  } finally {
    clearInterval(ticks);
  }
  return latencies;
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
