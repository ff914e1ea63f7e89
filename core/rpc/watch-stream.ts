import { status, type ServerWritableStream } from "@grpc/grpc-js";
import type { WatchWorkspaceRequest, WatchWorkspaceResponse } from "../../proto/gen/chatbridge/v1/workspace";
import { createShares } from "../../runtime/shares";
import { WATCHES_MAX } from "../domain/bounds";
import type { HealthContext } from "../operations/read-health";
import {
  createWorkspaceWatches,
  type WatchWorkspace,
  type WorkspaceChange,
} from "../operations/watch-workspace";
import type { RefusedRequests } from "../ports/hour-counts";
import type { Workspaces } from "../ports/workspaces";
import { callerOf } from "./call-caller";
import { ownerOf, tooMuch } from "./token-shares";
import { accepted, readWorkspaceId, StatusError, toStatus, type ReportFault } from "./status";
import { toRequestsMessage } from "./request-messages";
import { toDeliveryMessage, toHealthMessage } from "./workspace-messages";

export interface WatchContext extends HealthContext {
  readonly workspaces: Workspaces;
  readonly refusedRequests: RefusedRequests;
  /** Aborted when core stops. All watches are then closed. */
  readonly stopping: AbortSignal;
}

export type WatchStream = ServerWritableStream<WatchWorkspaceRequest, WatchWorkspaceResponse>;

/**
 * Number of unread changes at which core closes the watch of a slow client. A change that reports the workspace's
 * requests takes at most 14 KB. Any other change takes at most 1 KB.
 */
const UNREAD_MAX = 1_000;
/**
 * Number of unread changes at which core stops sending a client the changes that report requests. Each of these changes
 * replaces all earlier ones.
 */
const UNREAD_REQUESTS_MAX = 50;

/**
 * Returns the handler of `WorkspaceService.WatchWorkspace`. The number of watches per workspace is not limited, because
 * only callers with a token can open watches, and all watches of a workspace share the reads of the store.
 */
export function createWatchHandler(
  context: WatchContext,
  report: ReportFault,
): (stream: WatchStream) => void {
  const shares = createShares(WATCHES_MAX);
  const watchWorkspace = createWorkspaceWatches(context);
  return (stream) => {
    const caller = callerOf(stream);
    const release = shares.acquire(ownerOf(caller));
    if (typeof release === "string") {
      const refusal = tooMany(tooMuch(`${shares.max[release]} watches`, release, caller));
      stream.emit("error", toStatus("WatchWorkspace", refusal, report));
      return;
    }
    void serveWatch(watchWorkspace, context.stopping, stream, report).finally(release);
  };
}

/**
 * Serves one watch until the client cancels it, the client reads too slowly, core stops, or the workspace is deleted.
 */
async function serveWatch(
  watchWorkspace: WatchWorkspace,
  stopping: AbortSignal,
  stream: WatchStream,
  report: ReportFault,
): Promise<void> {
  const over = new AbortController();
  const end = (): void => over.abort();
  let isUnread = false;
  stopping.addEventListener("abort", end, { once: true });
  stream.on("cancelled", end);

  function tell(change: WorkspaceChange): void {
    if ("requests" in change && stream.writableLength >= UNREAD_REQUESTS_MAX) return;
    stream.write(toChange(change));
    if (stream.writableLength < UNREAD_MAX) return;
    isUnread = true;
    end();
  }

  try {
    const id = readWorkspaceId(stream.request.workspaceId);
    accepted((await watchWorkspace(id, tell, over.signal)) ?? {});
    if (isUnread)
      throw tooMany(`${UNREAD_MAX} changes were not read: watch again, and read changes as they arrive`);
    if (!stream.cancelled) throw new StatusError(status.UNAVAILABLE, "core is stopping: watch again");
  } catch (error) {
    if (!stream.cancelled) stream.emit("error", toStatus("WatchWorkspace", error, report));
  } finally {
    stopping.removeEventListener("abort", end);
  }
}

function tooMany(what: string): StatusError {
  return new StatusError(status.RESOURCE_EXHAUSTED, what);
}

function toChange(change: WorkspaceChange): WatchWorkspaceResponse {
  if ("unchanged" in change) return { change: undefined };
  if ("requests" in change)
    return { change: { $case: "requests", value: toRequestsMessage(change.requests) } };
  return {
    change:
      "delivery" in change
        ? { $case: "delivery", value: toDeliveryMessage(change.delivery) }
        : { $case: "health", value: toHealthMessage(change.health) },
  };
}
