import type { ServerResponse } from "node:http";
import { createShares } from "../../runtime/shares";

/**
 * The workspace and the sender of a poll. Each workspace and each address has its own maximum of unsent bytes, so no
 * bridge can use up the room that all bridges share.
 */
export interface PageOwner {
  readonly workspaceId: string;
  /** The sender's address, in canonical form. */
  readonly address: string;
}

export type UnsentPages = ReturnType<typeof createUnsentPages>;

/** Pages up to this size are not counted: they fit into the operating system's buffer for the connection. */
const SMALL_BYTES = 16_384;
const MB = 1_048_576;
/**
 * Maximum bytes of unsent pages. The room of one workspace holds five pages of the largest size, and the room of one
 * address holds ten.
 */
const ROOM = { all: 256 * MB, workspace: 32 * MB, address: 64 * MB } as const;
/** Milliseconds within which a bridge must receive a page. At 110 KB per second, the largest page takes a minute. */
const TAKEN_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 1_000;

/**
 * Limits the bytes of pages that bridges have not received yet. So bridges that do not read their answers cannot fill
 * the edge's memory. If a bridge does not receive a page within `takenWithinMs`, the edge closes the connection, and
 * the bridge can poll again.
 */
export function createUnsentPages(
  room: Readonly<Record<keyof typeof ROOM, number>> = ROOM,
  takenWithinMs = TAKEN_WITHIN_MS,
) {
  /** For each page, the `performance.now()` at which the page was added; oldest first. */
  const unsent = new Map<ServerResponse, number>();
  const shares = createShares(room);
  const look = setInterval(() => {
    for (const [response, beganAt] of unsent) {
      if (performance.now() - beganAt < takenWithinMs) return;
      response.destroy();
    }
  }, LOOK_EVERY_MS);

  return {
    /** Bytes of the pages that bridges have not received yet. */
    get bytes() {
      return shares.used;
    },
    /** Counts a page until it is completely sent. Returns false when there is no room for the page. */
    add(response: ServerResponse, bytes: number, { workspaceId, address }: PageOwner): boolean {
      if (bytes <= SMALL_BYTES) return true;
      const release = shares.acquire({ workspace: workspaceId, address }, bytes);
      if (typeof release === "string") return false;
      // If the client has already disconnected, the page is not counted, because "close" will not be emitted again.
      if (response.req.socket.destroyed) {
        release();
        return true;
      }
      unsent.set(response, performance.now());
      // "close" is emitted after the last byte is sent, or when the connection closes.
      response.once("close", () => {
        unsent.delete(response);
        release();
      });
      return true;
    },
    close: () => clearInterval(look),
  };
}
