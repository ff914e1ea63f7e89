import { displayName, escapeLine } from "../../../kit/game/index";

const NAME_MAX = 40;

/** Joins the texts that are not empty, with a blank line between them. */
export function paragraphs(...texts: readonly (string | undefined)[]): string {
  return texts.filter(Boolean).join("\n\n");
}

/** Escapes text, so that a chat shows the text literally and on one line. */
export const plain = escapeLine;

/**
 * Returns a member's name for use in a line of text. The name is shortened to `NAME_MAX` characters and escaped, and
 * cannot change the direction of the text that follows.
 */
export function plainName(name: string): string {
  const characters = [...name.trim()];
  const cut = characters.length > NAME_MAX ? [...characters.slice(0, NAME_MAX - 1), "…"] : characters;
  return escapeLine(displayName(cut.join(""), "someone"));
}
