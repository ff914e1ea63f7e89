import MarkdownIt from "markdown-it";

/**
 * Parses `message.text` into a tree that can be rendered for any chat (see "Message
 * text rules" in the contract). Only this file of the kit needs the optional peer
 * dependency `markdown-it`.
 */

/** An element that occupies whole lines. */
export type Block =
  | { readonly type: "paragraph"; readonly children: readonly Inline[] }
  | { readonly type: "quote"; readonly children: readonly Block[] }
  /** `language` is the first word after the opening fence, or null. `text` has no newline after its last line. */
  | { readonly type: "code-block"; readonly language: string | null; readonly text: string };

/** An element within a line. */
export type Inline =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "break" }
  | { readonly type: "italic" | "bold"; readonly children: readonly Inline[] }
  | { readonly type: "inline-code"; readonly text: string }
  /** `url` is percent-encoded, may be relative, and never has a scheme that runs code. */
  | { readonly type: "link"; readonly url: string; readonly children: readonly Inline[] };

// Only the markup that the contract names is enabled. For example, a line that begins
// with "#" or "1." is plain text, as it is in chat tools.
const markdown = new MarkdownIt("zero", { maxNesting: 100 }).enable([
  "autolink",
  "backticks",
  "blockquote",
  "emphasis",
  "escape",
  "fence",
  "link",
  "newline",
]);

type Token = ReturnType<typeof markdown.parse>[number];

/**
 * Parses chat-flavoured Markdown: italic, bold, inline code, links, quotes, fenced
 * code blocks and backslash escapes. A bare newline is a `break`, a blank line ends
 * a paragraph, and anything else is text. Never throws.
 */
export function parseMessageText(text: string): readonly Block[] {
  return nest(markdown.parse(text, {}).values(), toBlocks);
}

/**
 * Renders blocks for a chat without markup. Breaks become newlines, a blank line
 * separates blocks, quoted lines begin with "> ", and a link becomes its label and URL.
 */
export function toPlainText(blocks: readonly Block[]): string {
  return blocks.map(plainBlock).join("\n\n");
}

/** Builds a tree from opening and closing tokens, and stops at the token that closes the current level. */
function nest<Node>(
  tokens: Iterator<Token>,
  toNodes: (token: Token, children: readonly Node[]) => readonly Node[],
): readonly Node[] {
  const nodes: Node[] = [];
  for (let next = tokens.next(); !next.done && next.value.nesting >= 0; next = tokens.next()) {
    const token = next.value;
    nodes.push(...toNodes(token, token.nesting === 1 ? nest(tokens, toNodes) : []));
  }
  return nodes;
}

function toBlocks(token: Token, children: readonly Block[]): readonly Block[] {
  switch (token.type) {
    case "inline":
      return [{ type: "paragraph", children: nest((token.children ?? []).values(), toInlines) }];
    case "blockquote_open":
      return [{ type: "quote", children }];
    case "fence": {
      const [language] = token.info.trim().split(/\s+/);
      return [{ type: "code-block", language: language || null, text: token.content.replace(/\n$/, "") }];
    }
    default:
      return children; // The token opens a paragraph: the paragraph's inline token becomes the block.
  }
}

function toInlines(token: Token, children: readonly Inline[]): readonly Inline[] {
  switch (token.type) {
    case "softbreak":
    case "hardbreak":
      return [{ type: "break" }];
    case "em_open":
      return [{ type: "italic", children }];
    case "strong_open":
      return [{ type: "bold", children }];
    case "code_inline":
      return [{ type: "inline-code", text: token.content }];
    case "link_open":
      return [{ type: "link", url: String(token.attrGet("href") ?? ""), children }];
    default:
      return token.content === "" ? [] : [{ type: "text", text: token.content }];
  }
}

function plainBlock(block: Block): string {
  switch (block.type) {
    case "paragraph":
      return block.children.map(plainInline).join("");
    case "quote":
      return toPlainText(block.children)
        .split("\n")
        .map((line) => `> ${line}`)
        .join("\n");
    case "code-block":
      return block.text;
  }
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
      return inline.children.map(plainInline).join("");
    case "link": {
      const label = inline.children.map(plainInline).join("");
      return label === inline.url ? label : `${label} (${inline.url})`;
    }
  }
}
