import type { MessageBody, OutboundContent } from "./outbound-event";

/**
 * An outbound event as JSON text with a gap where the sequence goes: the store
 * mints the sequence in the step that appends the event, and the joined text is
 * what pushes and polls send, byte for byte.
 */
export interface RenderedEnvelope {
  readonly beforeSequence: string;
  readonly afterSequence: string;
}

/** What every envelope says besides its sequence. Times are ms since the epoch. */
export interface EnvelopeHead {
  readonly eventId: string;
  readonly workspaceId: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
}

/** Renders the envelope of `content`, or of a `ping` when there is none ("Outbound event envelope"). */
export function renderEnvelope(
  head: EnvelopeHead,
  content: OutboundContent | { readonly type: "ping" },
  messageId: string,
): RenderedEnvelope {
  const before = JSON.stringify({ id: head.eventId, type: content.type, workspace: head.workspaceId });
  const after = JSON.stringify({
    createdAt: new Date(head.createdAtMs).toISOString(),
    expiresAt: head.expiresAtMs === null ? null : new Date(head.expiresAtMs).toISOString(),
    ...typeSpecific(content, messageId),
  });
  return { beforeSequence: `${before.slice(0, -1)},"sequence":`, afterSequence: `,${after.slice(1)}` };
}

function typeSpecific(content: OutboundContent | { readonly type: "ping" }, messageId: string): object {
  switch (content.type) {
    case "message.create":
    case "message.update":
      return { channel: content.channel, message: message(content.message, messageId) };
    case "message.ephemeral":
      return { channel: content.channel, user: content.user, message: message(content.message, messageId) };
    case "dm.create":
      return { user: content.user, message: message(content.message, messageId) };
    case "ping":
      return {};
  }
}

function message(body: MessageBody, id: string): object {
  return {
    id,
    kind: body.kind,
    text: body.text,
    buttons: body.buttons,
    image: body.image,
    awaitsReply: body.awaitsReply,
    data: body.data,
  };
}
