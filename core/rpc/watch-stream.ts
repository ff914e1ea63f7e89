import { status, type ServerWritableStream } from "@grpc/grpc-js";
import type { WatchWorkspaceRequest, WatchWorkspaceResponse } from "../../proto/gen/chatbridge/v1/workspace";
import type { HealthContext } from "../operations/read-health";
import { watchWorkspace, type WorkspaceChange } from "../operations/watch-workspace";
import type { Workspaces } from "../ports/store";
import { toDeliveryMessage, toHealthMessage } from "./delivery-message";
import { accepted, readWorkspaceId, StatusError, toStatus, type ReportFault } from "./status";

export interface WatchContext extends HealthContext {
  readonly workspaces: Workspaces;
  /** Aborted when core stops. All watches are then closed. */
  readonly stopping: AbortSignal;
}

export type WatchStream = ServerWritableStream<WatchWorkspaceRequest, WatchWorkspaceResponse>;

/**
 * Maximum number of watches that a core serves at the same time. Each watch reads from the store three times a second.
 */
const WATCHES_MAX = 1_000;
/**
 * Number of unread changes at which core closes the watch of a slow client. A change has at most 1 KB.
 */
const UNREAD_MAX = 1_000;

/** Returns the handler of `WorkspaceService.WatchWorkspace`. */
export function createWatchHandler(
  context: WatchContext,
  report: ReportFault,
): (stream: WatchStream) => void {
  let watches = 0;
  return (stream) => {
    if (watches >= WATCHES_MAX) {
      const full = `this core already has ${WATCHES_MAX} watches, which is the limit: use another core, or retry later`;
      stream.emit("error", toStatus("WatchWorkspace", tooMany(full), report));
      return;
    }
    watches += 1;
    void serveWatch(context, stream, report).finally(() => (watches -= 1));
  };
}

/** Serves one watch until the client cancels the watch or reads too slowly, core stops, or the workspace is deleted. */
async function serveWatch(context: WatchContext, stream: WatchStream, report: ReportFault): Promise<void> {
  const over = new AbortController();
  const end = (): void => over.abort();
  let isUnread = false;
  context.stopping.addEventListener("abort", end, { once: true });
  stream.on("cancelled", end);

  function tell(change: WorkspaceChange): void {
    stream.write(toChange(change));
    if (stream.writableLength < UNREAD_MAX) return;
    isUnread = true;
    end();
  }

  try {
    const id = readWorkspaceId(stream.request.workspaceId);
    accepted((await watchWorkspace(context, id, tell, over.signal)) ?? {});
    if (isUnread)
      throw tooMany(`${UNREAD_MAX} changes were not read: watch again, and read changes as they arrive`);
    if (!stream.cancelled) throw new StatusError(status.UNAVAILABLE, "core is stopping: watch again");
  } catch (error) {
    if (!stream.cancelled) stream.emit("error", toStatus("WatchWorkspace", error, report));
  } finally {
    context.stopping.removeEventListener("abort", end);
  }
}

function tooMany(what: string): StatusError {
  return new StatusError(status.RESOURCE_EXHAUSTED, what);
}

function toChange(change: WorkspaceChange): WatchWorkspaceResponse {
  if ("unchanged" in change) return { change: undefined };
  return {
    change:
      "delivery" in change
        ? { $case: "delivery", value: toDeliveryMessage(change.delivery) }
        : { $case: "health", value: toHealthMessage(change.health) },
  };
}
