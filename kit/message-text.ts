/** Reads `message.text`, and renders it for chats without markup. `render.ts` renders it for other chats. */

export type { Block, CodeBlock, Inline } from "./message-tree";
export { parseMessageText, type MessageText } from "./parse-message-text";
export { toPlainText } from "./plain-text";
