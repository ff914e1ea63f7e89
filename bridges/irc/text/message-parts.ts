import { parseMessageText, type Block, type Message } from "chat-bridge-kit";
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
  /** Whether and how the lines can share a line of the chat with other lines. */
  readonly shape: Shape;
}

/**
 * The lines of a `text` can share one line of the chat. A `quote` can share a line if it has only one line, and it
 * begins with a mark. The lines of a `drawing` never share a line.
 */
export type Shape = "text" | "quote" | "drawing";

const SHAPES: Readonly<Record<Block["type"], Shape>> = {
  paragraph: "text",
  quote: "quote",
  "code-block": "drawing",
};

/** Returns the parts of a message from top to bottom. */
export function messageParts(message: Message, { isStyled, prefix }: TextOptions): readonly Part[] {
  const choices = choicesLine(message.buttons, prefix, message.awaitsReply);
  const parts: Part[] = [
    ...parseMessageText(message.text).map((block): Part => {
      return { type: "block", lines: linesOf(block, isStyled), shape: SHAPES[block.type] };
    }),
    {
      type: "image",
      lines: message.image === null ? [] : [withoutControls(message.image).trim()],
      shape: "text",
    },
    { type: "links", lines: linkLines(message.buttons), shape: "text" },
    { type: "choices", lines: choices === undefined ? [] : [choices], shape: "drawing" },
  ];
  return parts.filter(({ lines }) => lines.length > 0);
}
