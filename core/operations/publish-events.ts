import { isPushRetried } from "../../contract/messages";
import { isInScope, type Caller } from "../domain/caller";
import { OUTBOUND_EVENT_MAX_BYTES } from "../domain/bounds";
import { renderEnvelope, type RenderedEnvelope } from "../domain/envelope";
import { defaultLifetimeMs } from "../domain/lifetime";
import type { OutboundEvent } from "../domain/outbound-event";
import { findOutboundFault, type OutboundFault } from "../domain/outbound-rules";
import { parseWorkspaceId } from "../domain/workspace";
import type { Clock, Ids } from "../ports/outside";
import type { Fence, Publication } from "../ports/outbound-events";
import { readFence } from "./fence";

export type Unpublishable =
  | { readonly outcome: "unknown-workspace" }
  | { readonly outcome: "invalid"; readonly fault: OutboundFault };

export interface PublishContext {
  readonly now: Clock;
  readonly ids: Ids;
  readonly followLog: { readonly shards: number };
}

/**
 * Prepares one event for `OutboundEvents`: checks the event, creates the ids, and renders the envelope once.
 * For a workspace outside the caller's scope, the result is the same as for a workspace that does not exist.
 * The result does not refer to `event`, so that the decoded event can be freed before the store answers.
 */
export function preparePublication(
  { now, ids, followLog }: PublishContext,
  event: OutboundEvent,
  caller: Caller,
): Publication | Unpublishable {
  const workspaceId = parseWorkspaceId(event.workspaceId);
  if (workspaceId === undefined) return { outcome: "unknown-workspace" };
  const fault = findOutboundFault(event);
  if (fault !== undefined) return { outcome: "invalid", fault };
  let fence: Fence | undefined;
  if (event.fence !== undefined) {
    const read = readFence(event.fence, workspaceId, followLog.shards);
    if ("fault" in read) return { outcome: "invalid", fault: read.fault };
    fence = read.fence;
  }

  const { content } = event;
  const createdAtMs = now();
  const lifetimeMs = event.lifetimeMs ?? defaultLifetimeMs(content.type, content.message.kind);
  const expiresAtMs = lifetimeMs === null ? null : createdAtMs + Math.floor(lifetimeMs);
  const eventId = ids.event();
  const messageId = content.type === "message.update" ? content.messageId : ids.message();
  const envelope = renderEnvelope({ eventId, workspaceId, createdAtMs, expiresAtMs }, content, messageId);
  const bytes = bytesOf(envelope);
  if (bytes > OUTBOUND_EVENT_MAX_BYTES) {
    const message = `the event would have ${bytes} bytes: at most ${OUTBOUND_EVENT_MAX_BYTES} are allowed`;
    return { outcome: "invalid", fault: { field: "message", message } };
  }
  if (!isInScope(caller, workspaceId)) return { outcome: "unknown-workspace" };
  return {
    workspaceId,
    idempotencyKey: event.idempotencyKey,
    eventId,
    messageId,
    publisher: caller.name,
    expiresAtMs,
    type: content.type,
    push: isPushRetried(content) ? "retried" : "once",
    envelope,
    fence,
  };
}

/** Maximum number of bytes of one UTF-16 unit in UTF-8. */
const UNIT_MAX_BYTES = 3;

/**
 * Returns the size in bytes of an event without its sequence. If an upper bound of the size is within the limit,
 * returns this bound.
 */
function bytesOf({ beforeSequence, afterSequence }: RenderedEnvelope): number {
  const most = UNIT_MAX_BYTES * (beforeSequence.length + afterSequence.length);
  if (most <= OUTBOUND_EVENT_MAX_BYTES) return most;
  return Buffer.byteLength(beforeSequence) + Buffer.byteLength(afterSequence);
}
