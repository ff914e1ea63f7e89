import type { DropReason, PushOutcome } from "../domain/delivery";
import { signatureHeader } from "../domain/signature";
import { activeKeys, deliveryMode, type Workspace } from "../domain/workspace";
import type { Clock } from "../ports/clock";
import type { QueuedPush } from "../ports/push-queue";
import { AFTER_FAULT_MS, pause, type CurrentWorkspaces } from "./current-workspaces";
import type { Hold } from "./hold";
import type { PushClient } from "./push-client";

/** What came of an attempt, or why there was none; undefined when the lease was lost meanwhile. */
export type AttemptOutcome = PushOutcome | DropReason | undefined;

/**
 * Makes one attempt to push, by what its workspace is now.
 *
 * @param freshMs how long ago the workspace may have been read
 */
export async function tryToPush(
  { now, pushClient }: { readonly now: Clock; readonly pushClient: PushClient },
  current: CurrentWorkspaces,
  hold: Hold,
  push: QueuedPush,
  freshMs: number,
): Promise<AttemptOutcome> {
  let workspace = await current.read(push.workspaceId, freshMs);
  // Kept after all, or lost in a moment.
  for (; hold.isOver(); workspace = await current.read(push.workspaceId, 0)) {
    if (hold.lost.aborted) return undefined;
    await pause(AFTER_FAULT_MS);
  }
  if (workspace === undefined || deliveryMode(workspace) === "none") return "disconnected";
  if (deliveryMode(workspace) === "poll") return "polls";
  const nowMs = now();
  if (push.expiresAtMs !== null && push.expiresAtMs <= nowMs) return "expired";
  return await pushClient.push({
    url: urlOf(workspace),
    eventId: push.eventId,
    workspaceId: push.workspaceId,
    signature: signatureHeader(push.envelope, activeKeys(workspace, nowMs), nowMs),
    envelope: push.envelope,
  });
}

const urls = new WeakMap<Workspace, URL>();

/** The target URL, taken apart once for each time that its workspace was read. */
function urlOf(workspace: Workspace): URL {
  const url = urls.get(workspace) ?? new URL(workspace.targetUrl);
  urls.set(workspace, url);
  return url;
}
