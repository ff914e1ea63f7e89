import { escapeLine } from "../../../bridge/message-text-escape";

const NAME_MAX = 40;

/** Escapes a text from others as one line of Markdown that is shown literally. */
export function plain(text: string): string {
  return escapeLine(text);
}

/** Escapes a member's name, and shortens it to `NAME_MAX` characters. */
export function plainName(name: string): string {
  const characters = [...name.trim()];
  const cut = characters.length > NAME_MAX ? [...characters.slice(0, NAME_MAX - 1), "…"] : characters;
  return escapeLine(cut.join("")) || "someone";
}
