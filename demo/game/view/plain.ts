import { escapeLine } from "../../../bridge/message-text-escape";

const NAME_MAX = 40;

/** A text of someone else's as Markdown that reads as just that text, on one line. */
export function plain(text: string): string {
  return escapeLine(text);
}

/** A member's name: as `plain`, and cut where it is overlong. */
export function plainName(name: string): string {
  const characters = [...name.trim()];
  const cut = characters.length > NAME_MAX ? [...characters.slice(0, NAME_MAX - 1), "…"] : characters;
  return escapeLine(cut.join("")) || "someone";
}
