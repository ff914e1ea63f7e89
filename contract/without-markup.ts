/**
 * The markup of a text: an escaped character, a link, the marks of bold, italic and code, and the mark of a quote at the
 * start. An underscore inside a word is not markup.
 */
const MARKUP =
  /\\([!-/:-@[-`{-~])|\[((?:\\.|[^\]\\])*)\]\([^)\s]*\)?|^(?:> ?)+|\*+|`+|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu;

/**
 * Returns the words of a message's Markdown, e.g. "Who is in?" for "**Who** is in?". The text may be cut off anywhere,
 * so each mark is removed, also a mark without its counterpart. A link becomes its label.
 */
export function withoutMarkup(text: string): string {
  return text.replaceAll(MARKUP, (_mark, escaped?: string, label?: string) =>
    label === undefined ? (escaped ?? "") : withoutMarkup(label),
  );
}
