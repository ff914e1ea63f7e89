import { Message, MessageKind as MessageCode, type ButtonRow } from "../../proto/gen/chatbridge/v1/event";
import type { MessageKind } from "../../contract/messages";
import { LIFETIME_MAX_MS, LIFETIME_MIN_MS } from "../../core/domain/bounds";
import { KIND_WORDS } from "../../proto/codes";
import { displayName, escapeLine } from "../message-text-escape";
import { millisecondsOf, type Duration } from "./duration";
import { copyJson, type Json } from "./json";

/** A button. `game.action` makes buttons whose presses the game handles; `link` makes buttons that open a page. */
export type Button =
  | { readonly label: string; readonly action: string }
  | { readonly label: string; readonly url: string };

/**
 * A message: its text in Markdown, its buttons, and its other parts. Use `md` to insert other text into the Markdown:
 * `md` escapes it.
 */
export interface MessageContent {
  /** The default is `card`. */
  readonly kind?: MessageKind | undefined;
  readonly text?: string | undefined;
  /** Rows of buttons, top to bottom. */
  readonly buttons?: readonly (readonly Button[])[] | undefined;
  /** An http or https URL. */
  readonly image?: string | undefined;
  /** The view model, for bridges that draw messages themselves. */
  readonly data?: { readonly [key: string]: Json } | undefined;
  /** How long the message is worth showing; by default, the lifetime of its kind. */
  readonly lifetime?: Duration | undefined;
  /** Whether the next message that a member types is the answer to this message. `turn.ask` sets it. */
  readonly awaitsReply?: boolean | undefined;
}

/** A string stands for a message of the kind `card` with this text. */
export type Content = string | MessageContent;

/** Returns a button that opens a web page. Its presses are not reported. */
export function link(label: string, url: string): Button {
  return { label, url };
}

/**
 * A template tag for the text of a message. The values are escaped, so that chats show them literally and on one line:
 * `` md`**${user.name}** wins` ``. A value cannot change the direction of the text around it, and a value without visible
 * characters becomes a question mark.
 */
export function md(parts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return parts.reduce((text, part, i) => text + plain(String(values[i - 1])) + part);
}

function plain(value: string): string {
  return value === "" ? "" : escapeLine(displayName(value, "?"));
}

/** Returns the duration in ms, limited to the lifetimes that a message can have. */
export function lifetimeNear(duration: Duration): number {
  return Math.min(Math.max(millisecondsOf(duration), LIFETIME_MIN_MS), LIFETIME_MAX_MS);
}

/**
 * Returns a copy of the content that can be stored. Throws if the content is not a valid message, because an error
 * after the save would be too late.
 */
export function copyContent(content: Content): MessageContent {
  const { data, lifetime, ...rest } =
    typeof content === "string" ? ({ text: content } as MessageContent) : content;
  const lifetimeMs = lifetime === undefined ? undefined : millisecondsOf(lifetime);
  if (lifetimeMs !== undefined && lifetimeMs !== lifetimeNear(lifetimeMs)) {
    throw new RangeError(`the lifetime of a message is 1 second to 24 hours: ${lifetime}`);
  }
  if (rest.kind !== undefined && !KIND_CODES.has(rest.kind)) {
    throw new RangeError(
      `the kind "${rest.kind}" does not exist: use one of ${[...KIND_CODES.keys()].join(", ")}`,
    );
  }
  const copy = copyJson(
    { ...rest, ...(data && { data }), ...(lifetimeMs !== undefined && { lifetime: lifetimeMs }) },
    "content",
  ) as MessageContent;
  try {
    Message.encode(toMessage(copy, ""));
  } catch (error) {
    throw new TypeError(`the content is not a message: ${String(error)}`, { cause: error });
  }
  return copy;
}

const KIND_CODES: ReadonlyMap<string, MessageCode> = new Map(
  [...KIND_WORDS].map(([code, word]) => [word, code]),
);

/** Returns the message of an event. The action of each button begins with the name of the game. */
export function toMessage(
  { kind = "card", text = "", buttons = [], image, data, awaitsReply = false }: MessageContent,
  game: string,
): Message {
  return Message.create({
    kind: KIND_CODES.get(kind) ?? MessageCode.UNSPECIFIED,
    text,
    rows: buttons.map((row): ButtonRow => ({ buttons: row.map((button) => toButton(button, game)) })),
    ...(image !== undefined && { image }),
    ...(data && { data: { ...data } }),
    awaitsReply,
  });
}

function toButton(button: Button, game: string): ButtonRow["buttons"][number] {
  const { label } = button;
  return "url" in button
    ? { label, press: { $case: "url", value: button.url } }
    : { label, press: { $case: "action", value: `${game}:${button.action}` } };
}
