import { dmChannel, type ShownMessage } from "chat-bridge-kit";
import { PROMPTS_SEEN } from "chat-bridge-runner";
import { choicesOf } from "../text/choices-line";

/** The fields of a message that are needed to read answers. */
export type SentMessage = Pick<ShownMessage, "messageId" | "channel" | "user" | "message" | "chatMessageIds">;

/** Looks up the messages of a channel, and whether members see them. */
export interface ShownView {
  /** The messages of a channel, the most recently updated first. */
  shownIn(channel: string): readonly SentMessage[];
  /** Time at which a message was last printed, ms since the epoch; undefined if the time is unknown. */
  printedAtMs(messageId: string): number | undefined;
  /** Whether members do not see the choices of a message: they are not printed yet, or a newer version replaces them. */
  isHidden(shown: SentMessage): boolean;
  /** Whether choices will be printed soon in a channel. */
  areChoicesComing(channel: string): boolean;
  /** The last replacement of choices in a channel; undefined if it is not recent. */
  justClosed(channel: string): Closing | undefined;
}

/** A newer version of a message, which has replaced the choices that members saw. */
export interface Closing {
  readonly messageId: string;
  /** Time at which the newer version arrived, ms since the epoch. */
  readonly atMs: number;
  /** Time until which members may not have noticed the newer version, ms since the epoch. */
  readonly untilMs: number;
}

/** The meaning of a typed number: a choice of a message, a number that cannot be a choice now, or nothing. */
export type NumberMeaning =
  | { readonly type: "choice"; readonly shown: SentMessage }
  /** The member typed the number before the bridge printed the choices. */
  | { readonly type: "too early" }
  /** The choices that the member saw were replaced a moment ago. */
  | { readonly type: "too late" }
  /** The question that the member sees has no choices, and waits for text. */
  | { readonly type: "no choices" }
  | { readonly type: "none" };

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
 * Returns what a typed number means. A number counts for the choices that the member saw last: the choices of the
 * message that was printed last. If a newer version has replaced these choices, a number does not count for an older
 * message, whose choices the member no longer looks at.
 */
export function meaningOfNumber(view: ShownView, channel: string, userId: string): NumberMeaning {
  const shown = lastPrinted(
    view,
    visibleTo(view, channel, userId).filter(
      (each) => choicesOf(each.message.buttons).length > 0 && !view.isHidden(each),
    ),
  );
  const closed = view.justClosed(channel);
  if (shown !== undefined && (closed === undefined || isSeenAfter(closed, shown, view))) {
    return { type: "choice", shown };
  }
  if (view.areChoicesComing(channel)) return { type: "too early" };
  // While the bridge prints a prompt, members do not see it yet.
  const isSeen = (prompt: SentMessage): boolean =>
    !view.isHidden(prompt) && (closed === undefined || view.printedAtMs(prompt.messageId) !== Infinity);
  if (promptsFor(view, channel, userId, 1).some(isSeen)) return { type: "no choices" };
  return closed === undefined ? { type: "none" } : { type: "too late" };
}

function isSeenAfter({ messageId, atMs }: Closing, shown: SentMessage, view: ShownView): boolean {
  return shown.messageId === messageId || (view.printedAtMs(shown.messageId) ?? 0) >= atMs;
}

/**
 * Returns whether text that a member types can answer a prompt. The prompt must be one of the newest messages for the
 * whole channel, or the newest message for only this member. `number` is the text as a number, if the text is a number.
 * A number that is a choice of a newer message does not answer the prompt.
 */
export function isPromptWaiting(
  view: ShownView,
  channel: string,
  userId: string,
  number: number | undefined,
): boolean {
  if (promptsFor(view, channel, userId, 1).length > 0) return true;
  const visible = visibleTo(view, channel, userId);
  const newer = visible.slice(
    0,
    visible.findIndex(({ message }) => message.awaitsReply),
  );
  if (number !== undefined && newer.some(({ message }) => number <= choicesOf(message.buttons).length))
    return false;
  return promptsFor(view, channel, userId).length > 0;
}

function promptsFor(
  view: ShownView,
  channel: string,
  userId: string,
  among = PROMPTS_SEEN,
): readonly SentMessage[] {
  const visible = visibleTo(view, channel, userId);
  const newest = (isOwn: boolean, most: number) =>
    visible.filter(({ user }) => (user !== null) === isOwn).slice(0, most);
  // A message for one member cannot be updated, so it waits only until the next message for this member.
  return [...newest(true, 1), ...newest(false, among)].filter(({ message }) => message.awaitsReply);
}

/** Returns whether a number is a choice of the newest message of a channel. */
export function isNewestChoice(view: ShownView, channel: string, userId: string, number: number): boolean {
  const meaning = meaningOfNumber(view, channel, userId);
  if (meaning.type !== "choice") return false;
  const newest = visibleTo(view, channel, userId).find(({ user }) => user === null);
  const { messageId, message } = meaning.shown;
  return newest?.messageId === messageId && number <= choicesOf(message.buttons).length;
}

/** Returns whether the newest message of a direct conversation waits for text. */
export function isPromptNewest(view: ShownView, userId: string): boolean {
  const [newest] = view.shownIn(dmChannel(userId));
  return newest?.message.awaitsReply === true;
}

/** Returns whether a message of a direct conversation waits for an answer: a text or a choice. */
export function isTalking(view: ShownView, userId: string): boolean {
  return view
    .shownIn(dmChannel(userId))
    .some(({ message }) => message.awaitsReply || choicesOf(message.buttons).length > 0);
}

function visibleTo(view: ShownView, channel: string, userId: string): readonly SentMessage[] {
  return view.shownIn(channel).filter(({ user }) => user === null || user === userId);
}

function lastPrinted(view: ShownView, candidates: readonly SentMessage[]): SentMessage | undefined {
  const timeOf = ({ messageId }: SentMessage): number => view.printedAtMs(messageId) ?? 0;
  // The sort is stable: without times, the most recently updated message comes first.
  return candidates.toSorted((a, b) => timeOf(b) - timeOf(a))[0];
}
