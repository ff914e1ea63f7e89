import { escapeMarkup } from "./escape-markup";
import { renderBlocks, type Block, type CodeBlock, type Inline } from "./message-tree";
import { styledRuns, type Run } from "./styled-runs";

/**
 * Renders blocks as CommonMark.
 *
 * @param lineBreak markup of a line break within a paragraph
 */
export function markdownBlocks(blocks: readonly Block[], lineBreak: string): string {
  // A blank line would end the paragraph, and an indented first line would be a code block.
  const paragraph = (inlines: readonly Inline[]) =>
    markdownLine(inlines, lineBreak).replaceAll(/(^|\n)[ \t\n]+/g, "$1");
  return renderBlocks(blocks, { paragraph, codeBlock: fenced });
}

const STYLES = ["isBold", "isItalic"] as const;
type Style = (typeof STYLES)[number];

/** Renders runs. Opens and closes styles where two neighbouring runs have different styles. */
function markdownLine(inlines: readonly Inline[], lineBreak: string): string {
  const runs = styledRuns(inlines);
  const open: { readonly style: Style; readonly delimiter: string }[] = [];
  let line = "";
  for (const [index, run] of runs.entries()) {
    // Closes every style that ends here. To keep the nesting valid, also closes every style that was opened later.
    const outermost = open.findIndex(({ style }) => !run[style]);
    if (outermost >= 0) line += closing(open.splice(outermost));
    const opened = STYLES.filter((style) => run[style] && open.every((each) => each.style !== style))
      .map((style) => ({ style, end: endOf(runs, index, style) }))
      .toSorted((one, other) => other.end - one.end)
      .map(({ style, end }) => ({ style, delimiter: delimiterOf(runs, index, end, style) }));
    line += opened.map(({ delimiter }) => delimiter).join("");
    open.push(...opened);
    line += markdownRun(run, lineBreak);
  }
  return line + closing(open);
}

function closing(styles: readonly { readonly delimiter: string }[]): string {
  return styles
    .map(({ delimiter }) => delimiter)
    .toReversed()
    .join("");
}

/** Returns the index of the first run, at or after `start`, that does not have the style. */
function endOf(runs: readonly Run[], start: number, style: Style): number {
  for (let end = start; end < runs.length; end++) if (!runs[end]?.[style]) return end;
  return runs.length;
}

/** Returns the delimiter of a style; empty if Markdown would read every possible delimiter of the style as text. */
function delimiterOf(runs: readonly Run[], start: number, end: number, style: Style): string {
  const outside = [kindOf(runs[start - 1], LAST), kindOf(runs[end], FIRST)];
  const inside = [kindOf(runs[start], FIRST), kindOf(runs[end - 1], LAST)];
  const isText = inside.some(
    (kind, side) => kind === "space" || (kind !== "word" && outside[side] === "word"),
  );
  if (isText) return "";
  if (style === "isBold") return "**";
  // Within a word, only "*" is markup, not "_". Elsewhere, "_" is used, because it cannot be confused with the "**" of
  // bold.
  return outside.includes("word") ? "*" : "_";
}

const FIRST = /^./su;
const LAST = /.$/su;

/**
 * Returns Markdown's class of the first or the last character of an element. The start and the end of the text, and
 * elements that are not text, count as punctuation.
 */
function kindOf(run: Run | undefined, side: RegExp): "word" | "space" | "punctuation" {
  if (run?.inline.type !== "text") return "punctuation";
  const [character = ""] = side.exec(run.inline.text) ?? [];
  if (/[\p{Zs}\t-\r]/u.test(character)) return "space";
  return /[\p{P}\p{S}]/u.test(character) ? "punctuation" : "word";
}

function markdownRun({ inline }: Run, lineBreak: string): string {
  switch (inline.type) {
    case "text":
      return escapeMarkup(inline.text);
    case "break":
      return lineBreak;
    case "inline-code":
      return code(inline.text);
    case "link":
      return isAutolink(inline)
        ? `<${inline.url}>`
        : `[${markdownLine(inline.children, lineBreak)}](${escapeUrl(inline.url)})`;
  }
}

function code(text: string): string {
  const fence = "`".repeat(longestRun(text) + 1);
  // Markdown removes one space at each end of inline code, so code that matches this pattern needs an extra space.
  const space = /^`|`$|^ .+ $/.test(text) ? " " : "";
  return fence + space + text + space + fence;
}

function fenced({ language, text }: CodeBlock): string {
  const fence = "`".repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}${language ?? ""}\n${text}\n${fence}`;
}

/** Returns the length of the longest sequence of backticks. */
function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
}

/** Whether the label is the same as the URL. The parser can change the label of a URL with `%` or Punycode. */
function isAutolink({ url, children }: Extract<Inline, { type: "link" }>): boolean {
  const [label, ...others] = children;
  return label?.type === "text" && label.text === url && others.length === 0 && !/[<>%]|xn--/i.test(url);
}

/** Escapes brackets, and an "&" that could begin an entity. */
function escapeUrl(url: string): string {
  return url.replaceAll(/[()<>\\]|&(?=#?\w+;)/g, "\\$&");
}
