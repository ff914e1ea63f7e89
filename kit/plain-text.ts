import { renderBlocks, type Inline } from "./message-tree";
import { blocksOf, type MessageText } from "./parse-message-text";

type Link = Extract<Inline, { type: "link" }>;

/**
 * Renders text for a chat without markup, e.g. `toPlainText(message.text)`. Breaks become newlines, a blank line
 * separates blocks, quoted lines begin with "> ", and a link becomes its label and URL.
 */
export function toPlainText(text: MessageText): string {
  return renderBlocks(blocksOf(text), { paragraph: plainLine, codeBlock: (block) => block.text });
}

/** Renders the elements of a paragraph or a label as text without markup. */
export function plainLine(inlines: readonly Inline[]): string {
  return inlines.map(plainInline).join("");
}

function plainInline(inline: Inline): string {
  switch (inline.type) {
    case "text":
    case "inline-code":
      return inline.text;
    case "break":
      return "\n";
    case "italic":
    case "bold":
      return plainLine(inline.children);
    case "link":
      return plainLink(plainLine(labelOf(inline)), inline.url);
  }
}

/** Renders a link as its label and URL, e.g. "Rules (https://…)". */
export function plainLink(label: string, url: string): string {
  return label === url ? label : `${label} (${url})`;
}

/** Returns the label of a link; returns the URL if the label is blank. */
export function labelOf({ url, children }: Link): readonly Inline[] {
  return plainLine(children).trim() === "" ? [{ type: "text", text: url }] : children;
}

/**
 * Whether a chat can open a link's URL. For any other link, e.g. a relative, `javascript:` or `data:` link, only the
 * label is shown.
 */
export function isWebUrl(url: string): boolean {
  return /^(?:https?:\/\/|mailto:)[^\s\p{Cc}]+$/iu.test(url);
}
