// Matches characters that can open markup within a line, and characters that can open a block at the start of a line.
// At either end of the text, also matches characters that could form markup with the neighbouring text, e.g. "(" after
// "[Ada]", or "!" before "[…](…)".
const MARKUP = /[\\`*_[\]<&|~]|^[#+\-=>:.()]|(?<=^\d{1,9})[.)]|:(?=\/\/)|(?<=www)\.|!(?![^])/gim;

/** Puts a backslash before each character that Markdown renderers could read as markup. Returns well-formed Unicode. */
export function escapeMarkup(text: string): string {
  // Markdown shows NUL as the replacement character, and UTF-8 cannot encode a lone surrogate.
  return text.toWellFormed().replaceAll("\0", "\uFFFD").replaceAll(MARKUP, "\\$&");
}
