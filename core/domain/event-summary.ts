import { DM_PREFIX } from "../../contract/forms";
import { SUMMARY_MAX_CHARACTERS } from "../../contract/deliveries";

/** Says which message an event is about, so that people recognize the event in a list. A game chose the texts. */
export interface EventSummary {
  /** The id of the channel; empty for an event without a channel. */
  readonly channel: string;
  /** The id of the member who gets a direct or an ephemeral message; empty for other events. */
  readonly userId: string;
  /** Empty for an event without a message. */
  readonly messageId: string;
  /** The start of the text and the labels of the buttons in brackets; at most `SUMMARY_MAX_CHARACTERS` code points. */
  readonly text: string;
}

/**
 * Maximum number of bytes of an event that `summarize` reads. With the longest channel and user ids, the text begins
 * before the byte 2,000.
 */
const READ_MAX_BYTES = 3_072;
/** Maximum number of characters of one JSON string that become part of the text: enough escapes for the whole text. */
const PART_MAX_CHARACTERS = 1_024;

/** The characters of a JSON string. The closing quote may be missing at the end of the bytes that were read. */
const CHARACTERS = String.raw`([^"\\]*(?:\\.[^"\\]*)*)`;
const STRING = `"${CHARACTERS}"`;

/** The parts of an event, in the order in which `renderEnvelope` writes them. No field before `expiresAt` has this text. */
const EXPIRY = /"expiresAt":(?:null|"[^"]*")/g;
const CHANNEL_AND_USER = new RegExp(`(?:,"channel":${STRING})?(?:,"user":${STRING})?`, "y");
const MESSAGE = new RegExp(
  `,"message":\\{"id":"([^"]*)","kind":"[^"]*","text":"${CHARACTERS}(?:","buttons":\\[)?`,
  "y",
);
const BUTTON = new RegExp(`[\\[\\],]*\\{"label":${STRING},"(?:action|url)":${STRING}\\}`, "y");

/**
 * Returns the summary of an event from its bytes, or from the start of its bytes. `renderEnvelope` writes all events in
 * one form, so the function does not parse an event. Parsing would take three times as long, and each push needs a
 * summary. Fields that the bytes lack are empty.
 */
export function summarize(envelope: Buffer | string): EventSummary {
  const json =
    typeof envelope === "string"
      ? envelope
      : envelope.toString("utf8", 0, Math.min(envelope.length, READ_MAX_BYTES));
  let at = 0;
  /** Matches the part that is next. */
  function read(part: RegExp): RegExpExecArray | undefined {
    part.lastIndex = at;
    const found = part.exec(json);
    if (found === null) return undefined;
    at = part.lastIndex;
    return found;
  }

  if (read(EXPIRY) === undefined) return NOTHING;
  const [, place = "", member = ""] = read(CHANNEL_AND_USER) ?? [];
  const channel = decode(place);
  const isDirect = channel.startsWith(DM_PREFIX);
  const [, messageId = "", body = ""] = read(MESSAGE) ?? [];
  let text = fold(body);
  // A code point has one or two characters, so further labels would be cut off.
  while (text.length <= 2 * SUMMARY_MAX_CHARACTERS) {
    const label = read(BUTTON)?.[1];
    if (label === undefined) break;
    text += `${text === "" ? "" : " "}[${fold(label)}]`;
  }
  return {
    channel: isDirect ? "" : channel,
    userId: isDirect ? channel.slice(DM_PREFIX.length) : decode(member),
    messageId,
    text: cut(text),
  };
}

const NOTHING: EventSummary = { channel: "", userId: "", messageId: "", text: "" };

/** Decodes the characters of a JSON string, without an escape that was cut off at the end. */
function decode(characters: string): string {
  if (!characters.includes("\\")) return characters;
  try {
    return JSON.parse(`"${characters}"`) as string;
  } catch {
    return decode(characters.slice(0, characters.lastIndexOf("\\")));
  }
}

/**
 * Decodes the start of a JSON string. Replaces each run of white space and control characters with one space. A character
 * that was cut in half becomes U+FFFD, because the library of the store cannot read half of a surrogate pair.
 */
function fold(characters: string): string {
  const text = decode(characters.slice(0, PART_MAX_CHARACTERS)).toWellFormed();
  return TO_FOLD.test(text) ? text.replaceAll(BLANKS, " ").trim() : text;
}

const TO_FOLD = /[^\S ]|\p{Cc}| {2}|^ | $/u;
const BLANKS = /[\s\p{Cc}]+/gu;

/** Returns the first `SUMMARY_MAX_CHARACTERS` code points of a text. An ellipsis shows that the text was cut. */
function cut(text: string): string {
  if (text.length <= SUMMARY_MAX_CHARACTERS) return text;
  const start = text.slice(0, 2 * SUMMARY_MAX_CHARACTERS + 1);
  const points = [...start];
  if (points.length <= SUMMARY_MAX_CHARACTERS) return text;
  return `${points.slice(0, SUMMARY_MAX_CHARACTERS - 1).join("")}…`;
}
