import { dmChannel, type ShownMessage } from "chat-bridge-kit";
import { choicesOf } from "../text/choices-line";

/** The fields of a message that are needed to read answers. */
export type SentMessage = Pick<ShownMessage, "messageId" | "channel" | "user" | "message" | "chatMessageIds">;

/** Looks up the messages of a channel, and the times at which messages were printed. */
export interface ShownView {
  /** The messages of a channel, the most recently updated first. */
  shownIn(channel: string): readonly SentMessage[];
  /** Time at which a message was last printed, ms since the epoch; undefined if the time is unknown. */
  printedAtMs(messageId: string): number | undefined;
}

/**
 * Returns the messages of a channel: first the messages that are sent but not confirmed, then the messages that the kit
 * lists.
 */
export function withSent(
  sent: readonly SentMessage[],
  known: readonly SentMessage[],
  channel: string,
): readonly SentMessage[] {
  const ids = new Set(sent.map(({ messageId }) => messageId));
  return [
    ...sent.filter((each) => each.channel === channel),
    ...known.filter(({ messageId }) => !ids.has(messageId)),
  ];
}

/**
 * Returns the message to which a typed number applies: of the messages with choices that the member sees in the
 * channel, the one that was printed last.
 */
export function messageWithChoices(
  view: ShownView,
  channel: string,
  userId: string,
): SentMessage | undefined {
  return lastPrinted(
    view,
    visibleTo(view, channel, userId).filter(({ message }) => choicesOf(message.buttons).length > 0),
  );
}

/**
 * Returns whether text that a member types can answer a prompt. The prompt must be the newest message for the whole
 * channel, or the newest message for only this member.
 */
export function isPromptWaiting(view: ShownView, channel: string, userId: string): boolean {
  const visible = visibleTo(view, channel, userId);
  const newest = (isOwn: boolean): SentMessage | undefined =>
    visible.find(({ user }) => (user !== null) === isOwn);
  return [newest(false), newest(true)].some((shown) => shown?.message.awaitsReply === true);
}

/** Returns whether the newest message of a direct conversation waits for text. */
export function isPromptNewest(view: ShownView, userId: string): boolean {
  const [newest] = view.shownIn(dmChannel(userId));
  return newest?.message.awaitsReply === true;
}

function visibleTo(view: ShownView, channel: string, userId: string): readonly SentMessage[] {
  return view.shownIn(channel).filter(({ user }) => user === null || user === userId);
}

function lastPrinted(view: ShownView, candidates: readonly SentMessage[]): SentMessage | undefined {
  const timeOf = ({ messageId }: SentMessage): number => view.printedAtMs(messageId) ?? 0;
  // The sort is stable: without times, the most recently updated message comes first.
  return candidates.toSorted((a, b) => timeOf(b) - timeOf(a))[0];
}
