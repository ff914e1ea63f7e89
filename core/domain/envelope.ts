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
  const created = createdTime(head.createdAtMs);
  const expires = head.expiresAtMs === null ? "null" : `"${expiryTime(head.expiresAtMs)}"`;
  const rest = content.type === "ping" ? "}" : typeSpecific(content, messageId);
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
 * Returns a function that formats a time as RFC 3339 in UTC, and remembers the last result. Most events of one call have
 * the same times. Formatting a time takes 0.5 µs.
 */
function createIsoTime(): (ms: number) => string {
  let last = NaN;
  let text = "";
  return (ms) => {
    if (ms !== last) {
      text = new Date(ms).toISOString();
      last = ms;
    }
    return text;
  };
}
const createdTime = createIsoTime();
const expiryTime = createIsoTime();

/**
 * Renders the fields that depend on the event's type. Joining the texts of the values takes less time than
 * `JSON.stringify` of an object that contains the values.
 */
function typeSpecific(content: OutboundContent, messageId: string): string {
  const channel = "channel" in content ? `,"channel":${JSON.stringify(content.channel)}` : "";
  const user = "user" in content ? `,"user":${JSON.stringify(content.user)}` : "";
  return `${channel}${user},"message":${message(content.message, messageId)}}`;
}

function message({ kind, text, buttons, image, awaitsReply, data }: MessageBody, id: string): string {
  const shown = `"kind":"${kind}","text":${JSON.stringify(text)},"buttons":${JSON.stringify(buttons)}`;
  const rest = `"image":${JSON.stringify(image)},"awaitsReply":${awaitsReply},"data":${JSON.stringify(data)}`;
  return `{"id":"${id}",${shown},${rest}}`;
}
