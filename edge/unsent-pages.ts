import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The pages that are on their way to bridges, so that one that does not take them cannot fill the memory. */
export interface UnsentPages {
  /** Bytes of the pages that are not taken yet. */
  readonly bytes: number;
  /** Notes a page until it is sent; false when there is no room for it. */
  add(response: ServerResponse, bytes: number): boolean;
  close(): void;
}

/** Pages up to this fit into what the system holds for a connection anyway. */
const SMALL_BYTES = 16_384;
const BYTES_MAX = 256 * 1_048_576;
/** A page of 100 events of the largest size takes a minute at 100 KB a second. */
const TAKEN_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 1_000;

/** A page that is not taken within `takenWithinMs` is given up, with its connection: the bridge polls again. */
export function createUnsentPages(bytesMax = BYTES_MAX, takenWithinMs = TAKEN_WITHIN_MS): UnsentPages {
  /** When each page was begun, oldest first. */
  const unsent = new Map<ServerResponse, number>();
  /** By connection: a client that pipelines has many pages on one, and one listener. */
  const bySocket = new WeakMap<Socket, Set<() => void>>();
  let total = 0;
  const onClosed = (socket: Socket): Set<() => void> => {
    const known = bySocket.get(socket);
    if (known !== undefined) return known;
    const calls = new Set<() => void>();
    bySocket.set(socket, calls);
    socket.once("close", () => {
      for (const call of calls) call();
    });
    return calls;
  };
  const look = setInterval(() => {
    for (const [response, beganAt] of unsent) {
      if (performance.now() - beganAt < takenWithinMs) return;
      response.destroy();
    }
  }, LOOK_EVERY_MS);
  return {
    get bytes() {
      return total;
    },
    add(response, bytes) {
      if (bytes <= SMALL_BYTES) return true;
      if (total + bytes > bytesMax) return false;
      const { socket } = response.req;
      // Whoever asked is gone, and nothing will say so again.
      if (socket.destroyed) return true;
      const closed = onClosed(socket);
      unsent.set(response, performance.now());
      total += bytes;
      function done(): void {
        closed.delete(done);
        if (unsent.delete(response)) total -= bytes;
      }
      // After the last byte was sent; and with the connection, as one that waits behind another is never begun.
      response.once("close", done);
      closed.add(done);
      return true;
    },
    close: () => clearInterval(look),
  };
}
