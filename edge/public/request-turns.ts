import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Calls `start` when it is the request's turn, unless the connection closes first. */
export type TakeTurn = (response: ServerResponse, start: () => void) => void;

export interface WaitingMax {
  /** Maximum number of requests that wait on one connection, and on all connections. */
  readonly onConnection: number;
  readonly inAll: number;
}

/**
 * Signed requests never reach `onConnection`: Node reads 64 KB at a time, which is less than 512 signed requests, and
 * stops reading while a request waits. A waiting request takes about 3 KB of memory, so all waiting requests take
 * at most 48 MB.
 */
const WAITING_MAX: WaitingMax = { onConnection: 512, inAll: 16_384 };

interface Line {
  /** The answer that the next request waits for. */
  last: ServerResponse;
  waiting: number;
}

/**
 * Starts the requests of a connection one at a time. A request starts when the kernel
 * has accepted the previous answer. So if a client pipelines requests and reads nothing,
 * only one answer is in memory, and the other requests cost core nothing. A connection
 * with too many waiting requests is closed.
 */
export function createTurns(max = WAITING_MAX): TakeTurn {
  const lines = new WeakMap<Socket, Line>();
  let waitingInAll = 0;

  function wait(line: Line, count: number): void {
    line.waiting += count;
    waitingInAll += count;
  }

  function open(socket: Socket, last: ServerResponse): void {
    const line: Line = { last, waiting: 0 };
    lines.set(socket, line);
    // At the end of a request body, Node resumes reading from the socket, and stops only when the socket emits "pause".
    // If `pause()` has been called since `resume()`, another `pause()` emits nothing, so this listener emits "pause"
    // itself.
    socket.on("resume", () => {
      if (line.waiting > 0) socket.pause().emit("pause");
    });
    socket.once("close", () => wait(line, -line.waiting));
  }

  return (response, start) => {
    const { socket } = response.req;
    const line = lines.get(socket);
    if (line === undefined) {
      open(socket, response);
      return start();
    }
    const { last } = line;
    line.last = response;
    if (last.closed) return start();
    if (line.waiting >= max.onConnection || waitingInAll >= max.inAll) {
      socket.destroy();
      return;
    }
    wait(line, 1);
    socket.pause();
    last.once("close", () => {
      // If the connection has closed, the socket's "close" listener corrects the counts.
      if (!socket.writable) return;
      wait(line, -1);
      if (line.waiting === 0) socket.resume();
      start();
    });
  };
}
