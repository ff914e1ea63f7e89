import { parseMessageText, type Message } from "chat-bridge-kit";
import { choicesLine, linkLines } from "./choices-line";
import { linesOf, withoutControls } from "./styled-lines";

export interface TextOptions {
  /** Whether bold and italic text is marked with IRC's codes. */
  readonly isStyled: boolean;
  /** Prefix of a typed choice. */
  readonly prefix: string;
}

/** A part of a message that is printed, or left out, as a whole. */
export interface Part {
  readonly type: "block" | "image" | "links" | "choices";
  /** Lines of any length. */
  readonly lines: readonly string[];
}

/** Returns the parts of a message from top to bottom. */
export function messageParts(message: Message, { isStyled, prefix }: TextOptions): readonly Part[] {
  const blocks = parseMessageText(message.text).map((block) => linesOf(block, isStyled));
  const choices = choicesLine(message.buttons, prefix);
  const parts: Part[] = [
    ...blocks.map((lines) => ({ type: "block", lines }) as const),
    { type: "image", lines: message.image === null ? [] : [withoutControls(message.image).trim()] },
    { type: "links", lines: linkLines(message.buttons) },
    { type: "choices", lines: choices === undefined ? [] : [choices] },
  ];
  return parts.filter(({ lines }) => lines.length > 0);
}
