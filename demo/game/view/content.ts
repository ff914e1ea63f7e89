import { displayName, escapeLine } from "../../../kit/message-text-escape";
import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import { writeAction, type ButtonAction } from "../rules/button-action";
import type { MessageContent } from "../rules/input-output";

export type Row = NonNullable<MessageContent["rows"]>[number];
type Button = NonNullable<Row["buttons"]>[number];

const NAME_MAX = 40;

export function card(text: string): MessageContent {
  return { kind: MessageKind.CARD, text };
}

/** A button that reports an action when it is pressed. Labels are not Markdown. */
export function button(label: string, action: ButtonAction): Button {
  return { label, press: { $case: "action", value: writeAction(action) } };
}

/** A button that opens a web page. Presses of the button are not reported. */
export function link(label: string, url: string): Button {
  return { label, press: { $case: "url", value: url } };
}

/** Joins the texts that are not empty, with a blank line between them. */
export function paragraphs(...texts: readonly (string | undefined)[]): string {
  return texts.filter(Boolean).join("\n\n");
}

/** Escapes text, so that a chat shows the text literally and on one line. */
export const plain = escapeLine;

/**
 * Returns a member's name for use in a line: shortened to `NAME_MAX` characters, escaped, and unable to change the
 * direction of the text that follows.
 */
export function plainName(name: string): string {
  const characters = [...name.trim()];
  const cut = characters.length > NAME_MAX ? [...characters.slice(0, NAME_MAX - 1), "…"] : characters;
  return escapeLine(displayName(cut.join(""), "someone"));
}
