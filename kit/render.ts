/** Renders messages for chats with HTML, with Markdown or similar markup, and without buttons. */

export { choiceLines, numberedChoices, type Choice } from "./numbered-choices";
export { toHtml } from "./to-html";
export { toMarkdown, type MarkdownDialect } from "./to-markdown";
