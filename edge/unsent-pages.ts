import type { ServerResponse } from "node:http";

/** Who asked for a page. Each has a share of the room, so a bridge that reads nothing cannot take that of others. */
export interface PageOwner {
  readonly workspaceId: string;
  /** In canonical form. */
  readonly address: string;
}

/** The pages that are on their way to bridges, so that one that does not take them cannot fill the memory. */
export interface UnsentPages {
  /** Bytes of the pages that are not taken yet. */
  readonly bytes: number;
  /** Notes a page until it is sent; false when there is no room for it. */
  add(response: ServerResponse, bytes: number, owner: PageOwner): boolean;
  close(): void;
}

/** Pages up to this fit into what the system holds for a connection anyway. */
const SMALL_BYTES = 16_384;
const MB = 1_048_576;
/** Bytes. Five of the largest pages fit into a workspace's room, and ten into an address's. */
const ROOM = { all: 256 * MB, workspace: 32 * MB, address: 64 * MB } as const;
/** A page of 100 events of the largest size takes a minute at 100 KB a second. */
const TAKEN_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 1_000;

/** A page that is not taken within `takenWithinMs` is given up, with its connection: the bridge polls again. */
export function createUnsentPages(
  room: Readonly<Record<keyof typeof ROOM, number>> = ROOM,
  takenWithinMs = TAKEN_WITHIN_MS,
): UnsentPages {
  /** When each page was begun, oldest first. */
  const unsent = new Map<ServerResponse, number>();
  const byWorkspace = new Map<string, number>();
  const byAddress = new Map<string, number>();
  let total = 0;
  const look = setInterval(() => {
    for (const [response, beganAt] of unsent) {
      if (performance.now() - beganAt < takenWithinMs) return;
      response.destroy();
    }
  }, LOOK_EVERY_MS);

  function count({ workspaceId, address }: PageOwner, bytes: number): void {
    total += bytes;
    change(byWorkspace, workspaceId, bytes);
    change(byAddress, address, bytes);
  }

  return {
    get bytes() {
      return total;
    },
    add(response, bytes, owner) {
      if (bytes <= SMALL_BYTES) return true;
      if (
        total + bytes > room.all ||
        (byWorkspace.get(owner.workspaceId) ?? 0) + bytes > room.workspace ||
        (byAddress.get(owner.address) ?? 0) + bytes > room.address
      )
        return false;
      // Whoever asked is gone, and nothing will say so again.
      if (response.req.socket.destroyed) return true;
      unsent.set(response, performance.now());
      count(owner, bytes);
      // After the last byte was sent, or with the connection.
      response.once("close", () => {
        unsent.delete(response);
        count(owner, -bytes);
      });
      return true;
    },
    close: () => clearInterval(look),
  };
}

/** Adds to the bytes of one owner; an owner without any is removed. */
function change(bytesOf: Map<string, number>, key: string, bytes: number): void {
  const sum = (bytesOf.get(key) ?? 0) + bytes;
  if (sum === 0) bytesOf.delete(key);
  else bytesOf.set(key, sum);
}
