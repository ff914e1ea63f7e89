import type { DropReason } from "../../contract/deliveries";
import type { PushOutcome } from "../domain/delivery";
import { signatureHeader } from "../domain/signature";
import { activeKeys, deliveryMode, type Workspace } from "../domain/workspace";
import type { Clock } from "../ports/outside";
import type { QueuedPush } from "../ports/push-queue";
import type { CurrentWorkspaces } from "./current-workspaces";
import type { Lease } from "../leases/lease";
import type { PushClient } from "./push-client";
import { endPushSpan } from "./push-span";
import type { Tracer } from "../../runtime/tracing/tracer";

export interface PushAttemptContext {
  readonly now: Clock;
  readonly pushClient: PushClient;
  readonly tracer?: Tracer | undefined;
}

/**
 * The outcome of an attempt, or the reason why the attempt was not made; undefined when the work on the shard had to
 * stop before the attempt. If core cannot decrypt the workspace's secrets, the outcome is "unreadable", and the event
 * must wait.
 */
export type AttemptOutcome = PushOutcome | DropReason | "unreadable" | undefined;

/**
 * Makes one attempt to push an event, with the current target URL and secrets of the workspace.
 *
 * @param attempt the number of the attempt, from 1
 * @param freshMs the maximum milliseconds between reading the workspace and the attempt
 */
export async function tryToPush(
  { now, pushClient, tracer }: PushAttemptContext,
  current: CurrentWorkspaces,
  lease: Lease,
  push: QueuedPush,
  attempt: number,
  freshMs: number,
): Promise<AttemptOutcome> {
  const workspace = await current.read(push.workspaceId, freshMs);
  if (lease.stopping.aborted || lease.isOver()) return undefined;
  if (workspace === "unreadable") return workspace;
  if (workspace === undefined || deliveryMode(workspace) === "none") return "disconnected";
  if (deliveryMode(workspace) === "poll") return "polls";
  const nowMs = now();
  if (push.expiresAtMs !== null && push.expiresAtMs <= nowMs) return "expired";
  const keys = activeKeys(workspace, nowMs);
  if (keys.length === 0) return "unreadable";
  const url = urlOf(workspace);
  const { traceparent } = push;
  const span = traceparent === undefined ? undefined : tracer?.start("push", "client", traceparent);
  const outcome = await pushClient.push({
    url,
    eventId: push.eventId,
    workspaceId: push.workspaceId,
    signature: signatureHeader(push.envelope, keys, nowMs),
    envelope: push.envelope,
    // A core that does not trace passes the context on unchanged.
    traceparent: span?.traceparent ?? traceparent,
  });
  if (span) endPushSpan(span, push, attempt, url, outcome);
  return outcome;
}

const urls = new WeakMap<Workspace, URL>();

/** Returns the parsed target URL. The URL of a `Workspace` object is parsed only once. */
function urlOf(workspace: Workspace): URL {
  const url = urls.get(workspace) ?? new URL(workspace.targetUrl);
  urls.set(workspace, url);
  return url;
}
