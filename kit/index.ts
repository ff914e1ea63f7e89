/** The root import of the kit: `createBridge`, and everything that a bridge usually needs. */

export { retryAfterMs, TIMER_MOST_MS } from "./back-off";
export { createBridge } from "./bridge";
export type { Bridge } from "./bridge";
export type { BridgeStatus } from "./bridge-status";
export type { BridgeOptions } from "./bridge-options";
export type { BridgeChat, ChatMessageIds, ShownUpdate } from "./bridge-chat";
export type {
  ActionReport,
  BridgeReports,
  ChoiceReport,
  CommandReport,
  MessageReport,
  UnknownChoice,
  UnknownMessage,
} from "./bridge-reports";
export { CannotShow, RetryLater } from "./chat-errors";
export type { CursorStore } from "./cursor-store";
export { MESSAGE_KINDS } from "./events";
export type {
  ActionButton,
  Button,
  DmCreate,
  LinkButton,
  Message,
  MessageCreate,
  MessageEphemeral,
  MessageKind,
  MessageUpdate,
  OutboundEvent,
} from "./events";
export { FolderInUse } from "./folder-lock";
export { displayName } from "./display-name";
export { dmChannel } from "./inbound-event";
export type { Channel, User } from "./inbound-event";
export type { ListenOptions } from "./listen";
export { folderStore, storeInMemory } from "./message-store";
export type { BridgeStore, MessageStore } from "./message-store";
export { choiceLines, howToAnswer, numberedChoices } from "./numbered-choices";
export type { Choice } from "./numbered-choices";
export type { ReportedEntry, ReportedStore } from "./reported-store";
export { parseMessageText, toPlainText } from "./message-text";
export type { Block, Inline } from "./message-text";
export { PollRefused } from "./poll";
export type { PushStore } from "./push-store";
export { toHtml } from "./to-html";
export { toMarkdown } from "./to-markdown";
export type { MarkdownDialect } from "./to-markdown";
export { withoutByteOrderMark } from "./secret-form";
export type { Secrets } from "./secrets";
export type { SendResult } from "./sender";
export type { ShownMessage } from "./shown-messages";
export type { WaitingPlace } from "./waiting-places";
export { TextChat } from "./text-chat";
export type { SharedChannel, TextChatOptions, TypedLine } from "./text-chat";
export { asksForHelp, PROMPTS_SEEN, readChoice, readCommand } from "./typed-text";
export type { Typing } from "./typed-text";
