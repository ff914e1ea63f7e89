import type { MessageBody, OutboundContent } from "./outbound-event";

/**
 * An outbound event as JSON text, in two parts around the sequence. The store assigns the sequence when it stores the
 * event, and joins the parts. Pushes and pages contain the joined text, byte for byte.
 */
export interface RenderedEnvelope {
  readonly beforeSequence: string;
  readonly afterSequence: string;
}

/** The fields of every envelope, except its type and sequence. Times are in ms since the epoch. */
export interface EnvelopeHead {
  readonly eventId: string;
  readonly workspaceId: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
}

/** Renders the envelope of `content` (event reference, "Outbound events"). */
export function renderEnvelope(
  head: EnvelopeHead,
  content: OutboundContent | { readonly type: "ping" },
  messageId: string,
): RenderedEnvelope {
  // Ids, types and times contain no characters that JSON escapes.
  const created = isoTime(head.createdAtMs);
  const expires = head.expiresAtMs === null ? "null" : `"${isoTime(head.expiresAtMs)}"`;
  const rest =
    content.type === "ping" ? "}" : `,${JSON.stringify(typeSpecific(content, messageId)).slice(1)}`;
  return {
    beforeSequence: `{"id":"${head.eventId}","type":"${content.type}","workspace":"${head.workspaceId}","sequence":`,
    afterSequence: `,"createdAt":"${created}","expiresAt":${expires}${rest}`,
  };
}

const ID_AT_START = /^\{"id":"([^"]*)"/;

/** Returns the id of a rendered event; empty when the text is not a rendered event. */
export function eventIdOf(json: string): string {
  return ID_AT_START.exec(json)?.[1] ?? "";
}

/**
 * Recently formatted times. Most events of one call have the same times, and formatting a time takes 0.5 µs.
 */
const isoTimes = new Map<number, string>();
const ISO_TIMES_MAX = 16;

function isoTime(ms: number): string {
  const known = isoTimes.get(ms);
  if (known !== undefined) return known;
  const text = new Date(ms).toISOString();
  if (isoTimes.size === ISO_TIMES_MAX) isoTimes.clear();
  isoTimes.set(ms, text);
  return text;
}

function typeSpecific(content: OutboundContent, messageId: string): object {
  switch (content.type) {
    case "message.create":
    case "message.update":
      return { channel: content.channel, message: message(content.message, messageId) };
    case "message.ephemeral":
      return { channel: content.channel, user: content.user, message: message(content.message, messageId) };
    case "dm.create":
      return { user: content.user, message: message(content.message, messageId) };
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
