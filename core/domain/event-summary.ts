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
 * Maximum number of bytes of an event that `summarize` reads. Even with the longest channel and user ids, the text
 * begins within the first 2,000 bytes.
 */
const READ_MAX_BYTES = 3_072;
/**
 * Maximum number of characters of one JSON string that are decoded for the text: enough even if every character is
 * escaped.
 */
const PART_MAX_CHARACTERS = 1_024;

/**
 * Returns the summary of an event from its bytes, or from the start of its bytes. Each push needs a summary, and
 * `renderEnvelope` writes all events in one form. So this function searches for the ends of a few strings: parsing the
 * event would take several times as long. Fields that the bytes do not contain are empty.
 */
export function summarize(envelope: Buffer | string): EventSummary {
  const json =
    typeof envelope === "string"
      ? envelope
      : envelope.toString("utf8", 0, Math.min(envelope.length, READ_MAX_BYTES));
  const fields = endOfExpiry(json);
  if (fields === undefined) return NOTHING;
  const place = readString(json, fields, ',"channel":"');
  const member = readString(json, place?.end ?? fields, ',"user":"');
  const channel = place === undefined ? "" : decode(place.characters);
  const isDirect = channel.startsWith(DM_PREFIX);
  const userId = member === undefined ? "" : decode(member.characters);
  const { messageId, text } = readMessage(json, member?.end ?? place?.end ?? fields);
  return {
    channel: isDirect ? "" : channel,
    userId: isDirect ? channel.slice(DM_PREFIX.length) : userId,
    messageId,
    text: cut(text),
  };
}

const NOTHING: EventSummary = { channel: "", userId: "", messageId: "", text: "" };

const EXPIRY = '"expiresAt":';
const NEVER = "null";

/**
 * Returns the position after `expiresAt`, the last field that all events have. No earlier field can contain the text
 * `"expiresAt":`.
 */
function endOfExpiry(json: string): number | undefined {
  const at = json.indexOf(EXPIRY);
  if (at === -1) return undefined;
  const value = at + EXPIRY.length;
  return isAt(json, value, NEVER) ? value + NEVER.length : readString(json, value, '"')?.end;
}

/** The characters of a JSON string with its escapes, and the position after the closing quote. */
interface ReadString {
  readonly characters: string;
  readonly end: number;
}

/** Whether `text` is at the position `at`. `startsWith` with a position takes five times as long. */
function isAt(json: string, at: number, text: string): boolean {
  return json.slice(at, at + text.length) === text;
}

/** Reads the JSON string whose characters follow `start`, if `start` is at the position `at`. */
function readString(json: string, at: number, start: string): ReadString | undefined {
  if (!isAt(json, at, start)) return undefined;
  const from = at + start.length;
  const quote = closingQuote(json, from);
  return quote === -1 ? undefined : { characters: json.slice(from, quote), end: quote + 1 };
}

/** Returns the position of the quote that ends a string; -1 when the string was cut off. */
function closingQuote(json: string, from: number): number {
  let quote = json.indexOf('"', from);
  while (quote !== -1 && isEscaped(json, from, quote)) quote = json.indexOf('"', quote + 1);
  return quote;
}

/** Whether an odd number of backslashes precedes the position `at`. */
function isEscaped(json: string, from: number, at: number): boolean {
  let first = at;
  while (first > from && json[first - 1] === "\\") first -= 1;
  return (at - first) % 2 === 1;
}

/** Reads the id of a message, and the start of its text with the labels of its buttons. */
function readMessage(json: string, at: number): { readonly messageId: string; readonly text: string } {
  const id = readString(json, at, ',"message":{"id":"');
  const kind = id && readString(json, id.end, ',"kind":"');
  const start = ',"text":"';
  if (kind === undefined || !isAt(json, kind.end, start)) return NOTHING;
  const from = kind.end + start.length;
  const quote = closingQuote(json, from);
  const messageId = id?.characters ?? "";
  if (quote === -1) return { messageId, text: fold(json.slice(from, from + PART_MAX_CHARACTERS)) };
  const text = fold(json.slice(from, Math.min(quote, from + PART_MAX_CHARACTERS)));
  return { messageId, text: addLabels(text, json, quote + 1) };
}

/** Adds the labels of the buttons that follow the text. */
function addLabels(text: string, json: string, after: number): string {
  const start = ',"buttons":[';
  if (!isAt(json, after, start)) return text;
  let [labelled, at] = [text, after + start.length];
  // A code point is one or two UTF-16 units, so `cut` would remove further labels.
  while (labelled.length <= 2 * SUMMARY_MAX_CHARACTERS) {
    while (isBetweenButtons(json[at])) at += 1;
    const label = readString(json, at, '{"label":"');
    if (label === undefined) break;
    const press = readString(json, label.end, ',"action":"') ?? readString(json, label.end, ',"url":"');
    if (press === undefined || json[press.end] !== "}") break;
    labelled += `${labelled === "" ? "" : " "}[${fold(label.characters.slice(0, PART_MAX_CHARACTERS))}]`;
    at = press.end + 1;
  }
  return labelled;
}

function isBetweenButtons(character: string | undefined): boolean {
  return character === "[" || character === "]" || character === ",";
}

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
 * that was cut in half becomes U+FFFD, because the client library of the store cannot read half of a surrogate pair.
 */
function fold(characters: string): string {
  const text = decode(characters);
  return IS_PLAIN.test(text) ? text : text.toWellFormed().replaceAll(BLANKS, " ").trim();
}

/** Most texts. */
const IS_PLAIN = /^(?:[!-~]+(?: [!-~]+)*)?$/;
/** Runs of blanks that are not already a single space. */
const BLANKS = /[\s\p{Cc}]{2,}|[^\S ]|\p{Cc}/gu;

/** Returns the first `SUMMARY_MAX_CHARACTERS` code points of a text. An ellipsis shows that the text was cut. */
function cut(text: string): string {
  if (text.length <= SUMMARY_MAX_CHARACTERS) return text;
  const end = endOfPoints(text, SUMMARY_MAX_CHARACTERS - 1);
  return end + endOfPoints(text.slice(end, end + 2), 1) >= text.length ? text : `${text.slice(0, end)}…`;
}

/** Returns the position after the first `count` code points of a text. */
function endOfPoints(text: string, count: number): number {
  let at = 0;
  for (let i = 0; i < count; i += 1) at += (text.codePointAt(at) ?? 0) > LAST_OF_ONE_UNIT ? 2 : 1;
  return at;
}

const LAST_OF_ONE_UNIT = 0xffff;
