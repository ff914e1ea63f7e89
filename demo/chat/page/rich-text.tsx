import type { ComponentChildren } from "preact";
import { parseMessageText, toPlainText, type Block, type Inline } from "../../../kit/message-text";

/** Renders chat-flavoured Markdown as elements. HTML tags are shown as plain text. */
export function RichText({ text }: { readonly text: string }) {
  return <div class="rich">{parseMessageText(text).map(block)}</div>;
}

function block(node: Block): ComponentChildren {
  switch (node.type) {
    case "paragraph":
      return <p>{node.children.map(inline)}</p>;
    case "quote":
      return <blockquote>{node.children.map(block)}</blockquote>;
    case "code-block":
      return (
        <pre tabIndex={0} aria-label={node.language === null ? "Code" : `Code, ${node.language}`}>
          <code>{node.text}</code>
        </pre>
      );
  }
}

function inline(node: Inline): ComponentChildren {
  switch (node.type) {
    case "text":
      return node.text;
    case "break":
      return <br />;
    case "bold":
      return <strong>{node.children.map(inline)}</strong>;
    case "italic":
      return <em>{node.children.map(inline)}</em>;
    case "inline-code":
      return <code>{node.text}</code>;
    case "link":
      return (
        <a href={node.url} target="_blank" rel="noreferrer noopener">
          {node.children.map(inline)}
        </a>
      );
  }
}

/** Returns a message's text without markup, and without the `>` of quoted lines, for screen readers and excerpts. */
export function plainText(text: string): string {
  return toPlainText(parseMessageText(text)).replaceAll(/^(?:> )+/gm, "");
}
