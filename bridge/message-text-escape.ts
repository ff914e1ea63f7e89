/**
 * Escaping for what people wrote, such as member names and question text, that a
 * game service puts into `message.text` ("Message text rules"). Without any
 * dependency. What is escaped is text to a strict CommonMark renderer, to one with
 * GitHub's additions (tables, strikethrough, bare links with a scheme or "www."),
 * and to simpler chats.
 */

// Everywhere: what may open markup within a line. At the start of a line: what may
// open a block. At the start and the end of the text also what the text around it
// may complete: "[Ada]" before "(…)", "!" before "[…](…)".
const MARKUP = /[\\`*_[\]<&|~]|^[#+\-=>:.()]|(?<=^\d{1,9})[.)]|:(?=\/\/)|(?<=www)\.|!(?![^])/gim;

/**
 * Escapes a text of several lines, such as a question. Line breaks and blank
 * lines stay; space at either end of a line, which Markdown does not keep, goes,
 * and several blank lines become one.
 *
 * @returns Markdown that shows `text` and nothing else, on its own or between
 * other Markdown; well-formed Unicode whatever `text` is
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
 * Escapes a text of one line, such as a member's name: like `escapeText`, and any
 * run of spaces or line breaks becomes one space, so that it may stand within
 * `**…**`, a link's label or a quote. An empty result marks nothing up: write a
 * placeholder instead.
 */
export function escapeLine(text: string): string {
  return escapeMarkup(text.replaceAll(/[\s\u0085]+/g, " ").trim());
}

function escapeMarkup(text: string): string {
  // Markdown shows NUL as the replacement character, and JSON carries no half of a pair.
  return text.toWellFormed().replaceAll("\0", "\uFFFD").replaceAll(MARKUP, "\\$&");
}
