/** Renders messages as HTML, as Markdown or similar markup, and as text for chats without buttons. */

export { choiceLines, howToAnswer, numberedChoices, type Choice } from "./numbered-choices";
export { toHtml } from "./to-html";
export { toMarkdown, type MarkdownDialect } from "./to-markdown";
