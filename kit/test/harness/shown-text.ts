import MarkdownIt from "markdown-it";
import type { Block, Inline } from "../../message-text";

type Token = ReturnType<typeof STRICT.parse>[number];

/** A CommonMark parser that allows HTML. */
export const STRICT = new MarkdownIt("commonmark", { html: true });

/** A parser of GitHub-flavoured Markdown that allows HTML, and reads newlines as line breaks. */
export const GFM = new MarkdownIt("default", { html: true, breaks: true, linkify: true });
// Escaping cannot stop a renderer from guessing links without "//", so the tests turn this guessing off.
GFM.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false }).add("//", null).add("mailto:", null);

/** A piece of text with its styles, e.g. ["Ada", "bold"]; "\n" for a line break. */
type Span = readonly [text: string, style: string];

/**
 * A part of what a reader sees: the start of a quote, the end of a quote, a code block, or the spans of a line.
 */
type Shown = string | readonly Span[];

/** Returns what a reader sees of a parsed text. */
export function shownBlocks(blocks: readonly Block[]): readonly Shown[] {
  return blocks.flatMap((block): readonly Shown[] => {
    switch (block.type) {
      case "paragraph":
        return paragraph(spansOf(block.children, []));
      case "quote":
        return ["quote", ...shownBlocks(block.children), "end of quote"];
      case "code-block":
        return [`code ${block.language ?? ""}\n${block.text}`];
    }
  });
}

function spansOf(inlines: readonly Inline[], styles: readonly string[]): readonly Span[] {
  return inlines.flatMap((inline): readonly Span[] => {
    switch (inline.type) {
      case "text":
        return [span(inline.text, styles)];
      case "break":
        return [["\n", ""]];
      case "inline-code":
        return [span(inline.text, [...styles, "code"])];
      case "link": {
        const label = spansOf(inline.children, [...styles, inline.url]);
        const isText = ([text]: Span) => text !== "\n";
        return label.some(([text]) => text.trim() !== "")
          ? label.slice(label.findIndex(isText), label.findLastIndex(isText) + 1)
          : [span(inline.url, [...styles, inline.url])];
      }
      default:
        return spansOf(inline.children, [...styles, inline.type]);
    }
  });
}

function span(text: string, styles: readonly string[]): Span {
  return [text, [...new Set(styles)].toSorted().join(" ")];
}

/** Returns the lines of a paragraph, without blank lines and white space at either end. Joins spans of one style. */
function paragraph(spans: readonly Span[]): readonly Shown[] {
  const lines: Span[][] = [[]];
  for (const [text, style] of spans) {
    const line = lines.at(-1) ?? [];
    const last = line.at(-1);
    if (text === "\n") lines.push([]);
    else if (last?.[1] === style) line[line.length - 1] = [last[0] + text, style];
    else if (text !== "") line.push([text, style]);
  }
  const trimmed = lines.map((line) => {
    const spans = line.map(([text, style], index): Span => {
      const start = index === 0 ? text.trimStart() : text;
      return [index === line.length - 1 ? start.trimEnd() : start, style];
    });
    return spans.filter(([text]) => text !== "");
  });
  return trimmed.filter(({ length }) => length > 0);
}

/** Returns what a reader sees of text that `markdown-it` has parsed with any of its presets. */
export function shownTokens(tokens: readonly Token[]): readonly Shown[] {
  return tokens.flatMap((token): readonly Shown[] => {
    switch (token.type) {
      case "paragraph_open":
      case "paragraph_close":
        return [];
      case "inline":
        return paragraph(spansOfTokens(token.children ?? []));
      case "blockquote_open":
        return ["quote"];
      case "blockquote_close":
        return ["end of quote"];
      case "fence":
        return [`code ${token.info.trim()}\n${token.content.replace(/\n$/, "")}`];
      default:
        return [`${token.type} ${token.content}`];
    }
  });
}

const STYLES: Readonly<Record<string, string>> = { strong: "bold", em: "italic" };

function spansOfTokens(tokens: readonly Token[]): readonly Span[] {
  const styles: string[] = [];
  const spans: Span[] = [];
  for (const token of tokens) {
    if (token.nesting < 0) styles.pop();
    else if (token.type === "link_open") styles.push(String(token.attrGet("href")));
    else if (token.nesting > 0) styles.push(STYLES[token.tag] ?? token.type);
    else if (token.type === "softbreak" || token.type === "hardbreak") spans.push(["\n", ""]);
    else if (token.type === "code_inline") spans.push(span(token.content, [...styles, "code"]));
    else if (token.type === "text") spans.push(span(token.content, styles));
    else spans.push([token.content, token.type]);
  }
  return spans.filter(([text]) => text !== "");
}
