import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { createShares } from "../../runtime/shares";

/**
 * Calls `start` when the requests before it on the same connection are answered, unless the connection closes first.
 * @param addressOf returns the sender's address, in canonical form
 */
export type TakeTurn = (response: ServerResponse, start: () => void, addressOf: () => string) => void;

export interface WaitingMax {
  /** Maximum number of requests that wait on one connection, from one address, and on all connections. */
  readonly onConnection: number;
  readonly address: number;
  readonly all: number;
}

/**
 * Signed requests never reach the maximum `onConnection`: Node reads 64 KB at a time, which holds fewer than 512 signed
 * requests, and stops reading while a request waits. A waiting request takes about 3 KB of memory, so all waiting
 * requests take at most 48 MB.
 */
const WAITING_MAX: WaitingMax = { onConnection: 512, address: 4_096, all: 16_384 };

interface Line {
  /**
   * The answer that must be sent before the next request starts. It is undefined once the answer has been sent, so that
   * an idle connection does not keep its last request in memory. Otherwise, the garbage collector would copy a few KB
   * for each connection.
   */
  last: ServerResponse | undefined;
  /** For each waiting request, the function that releases its room. */
  readonly waiting: Set<() => void>;
}

/**
 * Starts the requests of a connection one at a time. A request starts when the kernel has accepted the previous answer.
 * So if a client pipelines requests and reads no answers, only one answer is in memory, and the other requests do not
 * reach core. A connection is closed if too many requests wait on it, or if too many requests from its address wait.
 */
export function createTurns({ onConnection, ...max }: WaitingMax = WAITING_MAX): TakeTurn {
  const lines = new WeakMap<Socket, Line>();
  const shares = createShares(max);

  function open(socket: Socket, last: ServerResponse): void {
    const line: Line = { last, waiting: new Set() };
    lines.set(socket, line);
    // At the end of a request body, Node resumes reading from the socket, and stops only when the socket emits "pause".
    // A second `pause()` after a `resume()` emits nothing, so this listener emits "pause" itself.
    socket.on("resume", () => {
      if (line.waiting.size > 0) socket.pause().emit("pause");
    });
    socket.once("close", () => {
      for (const release of line.waiting) release();
    });
  }

  function forgetSent(this: ServerResponse): void {
    const line = lines.get(this.req.socket);
    if (line?.last === this) line.last = undefined;
  }

  return (response, start, addressOf) => {
    const { socket } = response.req;
    response.on("close", forgetSent);
    const line = lines.get(socket);
    if (line === undefined) {
      open(socket, response);
      return start();
    }
    const { last } = line;
    line.last = response;
    if (last === undefined) return start();
    const release =
      line.waiting.size < onConnection ? shares.acquire({ address: addressOf() }) : "connection";
    if (typeof release === "string") {
      socket.destroy();
      return;
    }
    line.waiting.add(release);
    socket.pause();
    last.once("close", () => {
      // If the connection has closed, the socket's "close" listener releases the room.
      if (!socket.writable) return;
      release();
      line.waiting.delete(release);
      if (line.waiting.size === 0) socket.resume();
      start();
    });
  };
}
