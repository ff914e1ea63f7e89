import { escapeMarkup } from "./escape-markup";

export { displayName } from "./display-name";

/**
 * Escapes user-written text, such as member names and questions, that a game
 * puts into `message.text` (bridge guide, "Message text"). This file has no dependencies.
 * Escaped text is shown literally by strict CommonMark renderers, by renderers with GitHub's additions (tables,
 * strikethrough, bare links with a scheme or "www."), and by chats with simpler markup.
 */

/**
 * Escapes a text of several lines, such as a question. Line breaks and blank
 * lines are kept. Whitespace at either end of a line is removed, because Markdown
 * drops it anyway. Several successive blank lines become one.
 *
 * @returns Markdown in well-formed Unicode. Renderers show it as `text` without the
 * removed whitespace, both alone and between other Markdown
 */
export function escapeText(text: string): string {
  return escapeMarkup(
    text
      .split(/\r\n|\r|\n/)
      .map((line) => line.trim())
      .join("\n")
      .replaceAll(/\n{3,}/g, "\n\n")
      .trim(),
  );
}

/**
 * Escapes a text of one line, such as a member's name. Works like `escapeText`, but
 * also turns any run of whitespace into one space, so that the result fits
 * within `**…**`, a link's label or a quote. Use a placeholder if the result is
 * empty: Markdown does not read an empty `**…**` as bold.
 */
export function escapeLine(text: string): string {
  return escapeMarkup(text.replaceAll(/[\s\u0085]+/g, " ").trim());
}
