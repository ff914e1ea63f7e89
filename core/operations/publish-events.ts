import { OUTBOUND_EVENT_MAX_BYTES } from "../domain/bounds";
import { renderEnvelope } from "../domain/envelope";
import { defaultLifetimeMs } from "../domain/lifetime";
import type { OutboundEvent } from "../domain/outbound-event";
import { findOutboundFault, type OutboundFault } from "../domain/outbound-rules";
import { isRetried } from "../domain/retry";
import { parseWorkspaceId } from "../domain/workspace";
import type { Clock, Ids } from "../ports/outside";
import type { OutboundEvents, Published } from "../ports/store";

export interface PublishContext {
  readonly now: Clock;
  readonly ids: Ids;
  readonly outboundEvents: OutboundEvents;
}

export type PublishOutcome = Published | { readonly outcome: "invalid"; readonly fault: OutboundFault };

/**
 * Publishes one event: checks it, creates its ids, renders it once, and stores it. Calls that are made
 * together reach the store as one batch, in order.
 */
export function publishEvent(context: PublishContext, event: OutboundEvent): Promise<PublishOutcome> {
  const workspaceId = parseWorkspaceId(event.workspaceId);
  if (workspaceId === undefined) return Promise.resolve({ outcome: "unknown-workspace" });
  const fault = findOutboundFault(event);
  if (fault !== undefined) return Promise.resolve({ outcome: "invalid", fault });

  const { content } = event;
  const createdAtMs = context.now();
  const lifetimeMs = event.lifetimeMs ?? defaultLifetimeMs(content.type, content.message.kind);
  const expiresAtMs = lifetimeMs === null ? null : createdAtMs + Math.floor(lifetimeMs);
  const eventId = context.ids.event();
  const messageId = content.type === "message.update" ? content.messageId : context.ids.message();
  const envelope = renderEnvelope({ eventId, workspaceId, createdAtMs, expiresAtMs }, content, messageId);
  const bytes = Buffer.byteLength(envelope.beforeSequence) + Buffer.byteLength(envelope.afterSequence);
  if (bytes > OUTBOUND_EVENT_MAX_BYTES) {
    const message = `the event would have ${bytes} bytes, at most ${OUTBOUND_EVENT_MAX_BYTES} are allowed`;
    return Promise.resolve({ outcome: "invalid", fault: { field: "message", message } });
  }
  return context.outboundEvents.publish({
    workspaceId,
    idempotencyKey: event.idempotencyKey,
    eventId,
    messageId,
    expiresAtMs,
    type: content.type,
    push: isRetried(content) ? "retried" : "once",
    envelope,
  });
}
