import MarkdownIt from "markdown-it";
import type { Block, Inline } from "./message-tree";

/**
 * Parses `message.text` into a tree that can be rendered for any chat (bridge guide, "Message text"). Only this file of
 * the kit imports `markdown-it`.
 */

// Maximum nesting of the tree, which bounds the recursion of the functions that render it.
const DEPTH_MAX = 100;

// Only the markup that the contract names is enabled. For example, a line that begins
// with "#" or "1." is plain text, as it is in chat tools.
const markdown = new MarkdownIt("zero", { maxNesting: DEPTH_MAX }).enable([
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
 * a paragraph, and anything else is text. In elements nested more than 100 levels deep, styles are ignored, and the
 * content of quotes is dropped. Never throws.
 */
export function parseMessageText(text: string): readonly Block[] {
  return nest(markdown.parse(text, {}), toBlocks);
}

/** A message's `text`, or its tree. The functions that render text accept both. */
export type MessageText = string | readonly Block[];

/** Returns the tree of a message's text; parses the text if it is not yet a tree. */
export function blocksOf(text: MessageText): readonly Block[] {
  return typeof text === "string" ? parseMessageText(text) : text;
}

/**
 * Builds a tree from opening and closing tokens. Elements nested more than `DEPTH_MAX` levels deep are replaced by
 * their content.
 */
function nest<Node>(
  tokens: Iterable<Token>,
  toNodes: (token: Token, children: readonly Node[]) => readonly Node[],
): readonly Node[] {
  let nodes: Node[] = [];
  const open: { readonly token: Token; readonly outer: Node[] }[] = [];
  for (const token of tokens) {
    if (token.nesting === 1) {
      open.push({ token, outer: nodes });
      if (open.length <= DEPTH_MAX) nodes = [];
    } else if (token.nesting === 0) {
      nodes.push(...toNodes(token, []));
    } else {
      const closed = open.pop();
      if (closed === undefined || closed.outer === nodes) continue;
      closed.outer.push(...toNodes(closed.token, nodes));
      nodes = closed.outer;
    }
  }
  return nodes;
}

function toBlocks(token: Token, children: readonly Block[]): readonly Block[] {
  switch (token.type) {
    case "inline":
      return [{ type: "paragraph", children: nest(token.children ?? [], toInlines) }];
    case "blockquote_open":
      return [{ type: "quote", children }];
    case "fence": {
      const [language = null] = /^[\p{L}\p{N}#+._-]+(?!\S)/u.exec(token.info.trim()) ?? [];
      return [{ type: "code-block", language, text: token.content.replace(/\n$/, "") }];
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
