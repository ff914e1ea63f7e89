import type { Block, Inline } from "./message-tree";
import { blocksOf, type MessageText } from "./parse-message-text";
import { isWebUrl, labelOf } from "./plain-text";

/**
 * Renders text as HTML, e.g. `toHtml(message.text)`, for web chats and for Matrix's `formatted_body`. The result
 * contains only the tags p, br, strong, em, code, pre, blockquote and a. Text and attributes are escaped, so the result
 * is safe to insert into a page. A link whose scheme is not http, https or mailto is replaced by its label.
 */
export function toHtml(text: MessageText): string {
  return blocksOf(text).map(blockHtml).join("");
}

function blockHtml(block: Block): string {
  switch (block.type) {
    case "paragraph":
      return `<p>${inlinesHtml(block.children)}</p>`;
    case "quote":
      return `<blockquote>${toHtml(block.children)}</blockquote>`;
    case "code-block": {
      const language = block.language === null ? "" : ` class="language-${escapeHtml(block.language)}"`;
      return `<pre><code${language}>${escapeHtml(block.text)}\n</code></pre>`;
    }
  }
}

function inlinesHtml(inlines: readonly Inline[]): string {
  return inlines.map(inlineHtml).join("");
}

function inlineHtml(inline: Inline): string {
  switch (inline.type) {
    case "text":
      return escapeHtml(inline.text);
    case "break":
      return "<br>";
    case "bold":
      return `<strong>${inlinesHtml(inline.children)}</strong>`;
    case "italic":
      return `<em>${inlinesHtml(inline.children)}</em>`;
    case "inline-code":
      return `<code>${escapeHtml(inline.text)}</code>`;
    case "link": {
      const label = inlinesHtml(labelOf(inline));
      return isWebUrl(inline.url) ? `<a href="${escapeHtml(inline.url)}">${label}</a>` : label;
    }
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
