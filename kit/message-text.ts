/** Parses `message.text`, and renders it as plain text. For chats with markup, `render.ts` renders `message.text`. */

export type { Block, CodeBlock, Inline } from "./message-tree";
export { parseMessageText, type MessageText } from "./parse-message-text";
export { toPlainText } from "./plain-text";
