import { DM_PREFIX } from "../../contract/forms";
import { SUMMARY_MAX_CHARACTERS } from "../../contract/deliveries";
import type { EventSummaryShape } from "../../proto/json/shapes";
import { withoutMarkup } from "../../contract/without-markup";

const MARKED = /^[#&!@+]/;
const BLANKS = /[\s\p{Cc}]+/gu;
const SHORT_ID_CHARACTERS = 6;

/** Says where a message appears: "#general", or the member who gets it; empty if the event has no message. */
export function placeOf({ channel, userId }: EventSummaryShape): string {
  if (channel !== "") return MARKED.test(channel) ? channel : `#${channel}`;
  return userId === "" ? "" : `@${userId}`;
}

/**
 * Returns the place and the text of an event's message: "#general · Who is in? [Join]"; undefined if both are unknown.
 */
export function messageWords(summary: EventSummaryShape | null): string | undefined {
  if (summary === null) return undefined;
  const parts = [placeOf(summary), summary.text].filter((each) => each !== "");
  return parts.length === 0 ? undefined : parts.join(" · ");
}

/** Returns only the end of an event's id. The start encodes the time, which each row already shows. */
export function shortId(eventId: string): string {
  return `…${eventId.slice(-SHORT_ID_CHARACTERS)}`;
}

/** Returns the path of an event's page. */
export function eventPath(workspaceId: string, eventId: string): string {
  return `/workspaces/${encodeURIComponent(workspaceId)}/events/${encodeURIComponent(eventId)}`;
}

interface Envelope {
  readonly channel?: unknown;
  readonly user?: unknown;
  readonly message?: { readonly id?: unknown; readonly text?: unknown; readonly buttons?: unknown };
}

/** Returns the summary of an event as the log shows it, without markup; null if the JSON is not an event. */
export function readWords(json: string): EventSummaryShape | null {
  const summary = readSummary(json);
  return summary && { ...summary, text: withoutMarkup(summary.text) };
}

/**
 * Reads the summary of an event from its JSON, as core does for the entries of the log; null if the JSON is not an
 * event.
 */
export function readSummary(json: string): EventSummaryShape | null {
  let event: Envelope | null;
  try {
    event = JSON.parse(json) as Envelope | null;
  } catch {
    return null;
  }
  if (event === null || typeof event !== "object") return null;
  const channel = text(event.channel);
  const isDirect = channel.startsWith(DM_PREFIX);
  const labels = buttonsOf(event.message?.buttons).map(({ label }) => `[${fold(text(label))}]`);
  const words = [fold(text(event.message?.text)), ...labels].filter((each) => each !== "").join(" ");
  return {
    channel: isDirect ? "" : channel,
    userId: isDirect ? channel.slice(DM_PREFIX.length) : text(event.user),
    messageId: text(event.message?.id),
    text: cut(words),
  };
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const fold = (words: string): string => words.replaceAll(BLANKS, " ").trim();

function buttonsOf(rows: unknown): readonly { readonly label?: unknown }[] {
  return Array.isArray(rows) ? (rows.flat(1) as readonly { readonly label?: unknown }[]) : [];
}

function cut(words: string): string {
  const points = [...words];
  if (points.length <= SUMMARY_MAX_CHARACTERS) return words;
  return `${points.slice(0, SUMMARY_MAX_CHARACTERS - 1).join("")}…`;
}
