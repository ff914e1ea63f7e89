import type { QueuedPush } from "../ports/push-queue";
import { isOver, nextRest, type Rest } from "./growing-rest";
import { WORKSPACE_BYTES_MAX } from "./shard-queue";
import { WAITING_MAX } from "./turns";

/** The size limits of a shard's push queue. */
export interface QueueSize {
  readonly pushQueueMax: number;
  readonly pushQueueMaxBytes: number;
}

interface Size {
  readonly events: number;
  readonly bytes: number;
}

interface Resting {
  /** The ids of the workspace's entries that stay in the queue. */
  readonly entryIds: string[];
  bytes: number;
  rest: Rest;
}

/** Maximum number of workspaces that are checked in one round, so that the dispatcher is not delayed. */
const DUE_MAX = 10;

/**
 * The workspaces of a shard to which core cannot push now, because core cannot decrypt their secrets. The events of
 * these workspaces stay in the queue, and are not kept in memory. The resting events of all workspaces fill at most
 * half of the shard's queue, and the events of one workspace at most an eighth, so that other workspaces have room.
 * This is not a circuit breaker: a workspace whose bridge fails does not rest.
 */
export function createRestingWorkspaces({ pushQueueMax, pushQueueMaxBytes }: QueueSize) {
  const all: Size = { events: pushQueueMax / 2, bytes: pushQueueMaxBytes / 2 };
  const each: Size = {
    events: Math.min(WAITING_MAX, all.events / 4),
    bytes: Math.min(WORKSPACE_BYTES_MAX, all.bytes / 4),
  };
  const resting = new Map<string, Resting>();
  let events = 0;
  let bytes = 0;

  return {
    has: (workspaceId: string) => resting.has(workspaceId),
    /** Begins the first rest of a workspace. */
    begin(workspaceId: string): void {
      resting.set(workspaceId, { entryIds: [], bytes: 0, rest: nextRest(undefined) });
    },
    /**
     * Adds an event of a resting workspace. Returns false when there is no room for an event that was never tried. An
     * event that was tried is always added, because there are few such events.
     */
    add(push: QueuedPush, attempts = push.attempts): boolean {
      const own = resting.get(push.workspaceId);
      if (own === undefined) return false;
      const hasRoom =
        own.entryIds.length < each.events &&
        own.bytes + push.bytes <= each.bytes &&
        events < all.events &&
        bytes + push.bytes <= all.bytes;
      if (!hasRoom && attempts === 0) return false;
      own.entryIds.push(push.entryId);
      own.bytes += push.bytes;
      events += 1;
      bytes += push.bytes;
      return true;
    },
    /** Returns the ids of at most `DUE_MAX` workspaces whose rest has ended. */
    due(): readonly string[] {
      const ids: string[] = [];
      for (const [id, { rest }] of resting) {
        if (ids.length === DUE_MAX) break;
        if (isOver(rest)) ids.push(id);
      }
      return ids;
    },
    /** Begins the next, longer rest of a workspace. */
    restAgain(workspaceId: string): void {
      const own = resting.get(workspaceId);
      if (own !== undefined) own.rest = nextRest(own.rest);
    },
    /** Ends the rest of a workspace. Returns the ids of the workspace's entries that stayed in the queue. */
    end(workspaceId: string): readonly string[] {
      const own = resting.get(workspaceId);
      if (own === undefined) return [];
      resting.delete(workspaceId);
      events -= own.entryIds.length;
      bytes -= own.bytes;
      return own.entryIds;
    },
  };
}
