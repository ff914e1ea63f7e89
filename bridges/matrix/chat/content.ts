import {
  numberedChoices,
  parseMessageText,
  toHtml,
  toPlainText,
  type Block,
  type Inline,
  type Message,
} from "chat-bridge-kit";
import { keycap, KEYCAPS_MAX } from "./choices";
import type { Picture } from "./pictures";

/** The content of an `m.room.message` event that is a text, or the caption of an image. */
export interface TextContent {
  readonly msgtype: "m.text" | "m.notice" | "m.image";
  readonly body: string;
  readonly format?: "org.matrix.custom.html";
  readonly formatted_body?: string;
  /** An empty object: a message of the bridge mentions nobody, even if a member's name is in the text. */
  readonly "m.mentions": object;
}

/** Maximum bytes of the content as JSON. An event has at most 65,536 bytes, and an edit contains the text twice. */
const CONTENT_MAX_BYTES = 28_000;
/** Maximum bytes of the content in encrypted rooms, where encryption makes the content a third longer. */
const ENCRYPTED_MAX_BYTES = 21_000;
/** Maximum bytes, as JSON, of the choices and links below a text that is cut. */
const BELOW_MAX_BYTES = 20_000;

/**
 * Returns a message as formatted text, with its choices and links below. `link` is the URL of an image that is shown as
 * a link. If `isEncrypted` is true, the content is short enough to be encrypted.
 *
 * The type is `m.text`, because clients show an `m.notice` less prominently and without a notification. Members must
 * notice the messages of a game.
 */
export function toContent(message: Message, prefix: string, link?: string, isEncrypted = false): TextContent {
  const maxBytes = isEncrypted ? ENCRYPTED_MAX_BYTES : CONTENT_MAX_BYTES;
  const lines = buttonLines(message, prefix);
  if (link !== undefined) lines.unshift(linkLine("🖼", "Picture", link));
  const below = lines.flatMap((line, i): readonly Inline[] =>
    i === 0 ? line : [{ type: "break" }, ...line],
  );
  const text = parseMessageText(message.text);
  const choices: readonly Block[] = lines.length === 0 ? [] : [{ type: "paragraph", children: below }];
  const blocks = [...text, ...choices];
  const content: TextContent = {
    msgtype: "m.text",
    body: toPlainText(blocks),
    format: "org.matrix.custom.html",
    formatted_body: toHtml(blocks),
    "m.mentions": {},
  };
  return bytesOf(content) <= maxBytes
    ? content
    : cutContent(toPlainText(text), toPlainText(choices), maxBytes);
}

/**
 * Returns the content of an image with a text as its caption (version 1.10 of the specification). A caption keeps the
 * image and the question together, and a single event notifies members only once. If the text is empty, the image has
 * no caption.
 */
export function withPicture(text: TextContent, { mxc, extension, mimetype, size, keys, measured }: Picture) {
  const filename = `picture.${extension}`;
  return {
    ...text,
    body: text.body === "" ? filename : text.body,
    msgtype: "m.image",
    filename,
    ...(keys === undefined ? { url: mxc } : { file: { ...keys, url: mxc } }),
    info: { mimetype, size, ...measured },
  } as const;
}

/** Returns the content as a notice: by default, clients do not notify members of a notice. */
export function asNotice(content: TextContent): TextContent {
  return { ...content, msgtype: "m.notice" };
}

/**
 * Returns the content of a message that is too long, without formatting. The text is cut first, because members need
 * the choices.
 */
function cutContent(text: string, choices: string, maxBytes: number): TextContent {
  const lines = cutLines(choices, BELOW_MAX_BYTES);
  const below = text === "" || lines === "" ? lines : `\n\n${lines}`;
  const content: TextContent = { msgtype: "m.text", body: below, "m.mentions": {} };
  return { ...content, body: `${cut(text, maxBytes - bytesOf(content))}${below}` };
}

/**
 * Returns the content of a message from the bridge itself, not from a game. Clients show an `m.notice` less
 * prominently.
 */
export function toNotice(text: string): TextContent {
  return { msgtype: "m.notice", body: text, "m.mentions": {} };
}

/** Returns content that replaces the content of the event `eventId`. */
export function toEdit(eventId: string, content: { readonly body: string }): object {
  return {
    ...content,
    body: `* ${content.body}`,
    "m.new_content": content,
    "m.relates_to": { rel_type: "m.replace", event_id: eventId },
  };
}

/** Returns a line for each button: a keycap or a number for an action, and a link for a URL. */
function buttonLines({ buttons }: Message, prefix: string): (readonly Inline[])[] {
  const choices = numberedChoices(buttons);
  const lines = choices.map(({ label, number, url }): readonly Inline[] => {
    if (url !== undefined) return linkLine("🔗", label, url);
    const mark = number <= KEYCAPS_MAX ? keycap(number) : `${prefix}${number}`;
    return [{ type: "text", text: `${mark} ${label}` }];
  });
  const highest = Math.max(...choices.map(({ number = 0 }) => number));
  if (highest > KEYCAPS_MAX) {
    const text = `Choose with a reaction, or type a number, e.g. ${prefix}${highest}`;
    lines.push([{ type: "italic", children: [{ type: "text", text }] }]);
  }
  return lines;
}

function linkLine(mark: string, label: string, url: string): readonly Inline[] {
  return [
    { type: "text", text: `${mark} ` },
    { type: "link", url, children: [{ type: "text", text: label }] },
  ];
}

/**
 * Returns the length of a value as JSON, in bytes. JSON escapes some characters, so the result can be greater than the
 * length of the text itself.
 */
function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Cuts a text as `cut` does, but at the end of a line, unless even the first line is too long. */
function cutLines(text: string, maxBytes: number): string {
  const kept = cut(text, maxBytes);
  const end = kept.lastIndexOf("\n");
  return kept === text || end < 0 ? kept : `${kept.slice(0, end)}\n…`;
}

/** Cuts a text to at most `maxBytes`, measured as JSON without quotes. Never cuts within a character. */
function cut(text: string, maxBytes: number): string {
  if (bytesOf(text) - 2 <= maxBytes) return text;
  let left = maxBytes - bytesOf("…") + 2;
  let end = 0;
  for (const character of text) {
    left -= bytesOf(character) - 2;
    if (left < 0) break;
    end += character.length;
  }
  return `${text.slice(0, end)}…`;
}
