/**
 * Matches the markup in a text: escaped characters, links, the marks of bold, italic and code, and the mark of a quote
 * at the start. An underscore inside a word is not markup.
 */
const MARKUP =
  /\\([!-/:-@[-`{-~])|\[((?:\\.|[^\]\\])*)\]\([^)\s]*\)?|^(?:> ?)+|\*+|`+|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu;

/**
 * Returns the text of a message without its Markdown, e.g. "Who is in?" for "**Who** is in?". The text may be cut off
 * anywhere, so every mark is removed, even without its counterpart. A link becomes its label.
 */
export function withoutMarkup(text: string): string {
  return text.replaceAll(MARKUP, (_mark, escaped?: string, label?: string) =>
    label === undefined ? (escaped ?? "") : withoutMarkup(label),
  );
}
