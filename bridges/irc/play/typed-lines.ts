import { dmChannel, howToAnswer, type Bridge } from "chat-bridge-kit";
import { asksForHelp, readChoice, readCommand, type Logger } from "chat-bridge-runner";
import { LRUCache } from "lru-cache";
import type { MemberIdentity } from "../state/members";
import { choicesOf } from "../text/choices-line";
import { plainText } from "../text/plain-text";
import {
  isNewestChoice,
  isPromptNewest,
  isPromptWaiting,
  isTalking,
  meaningOfNumber,
  type SentMessage,
  type ShownView,
} from "./find-choices";

/** A line that a member typed. */
export interface TypedLine {
  readonly member: MemberIdentity;
  /** The channel: `id` in lower case, and `name` as written; undefined for a private message to the bridge. */
  readonly channel: { readonly id: string; readonly name: string } | undefined;
  readonly text: string;
  /** The server's id of the line, if it has one. */
  readonly id: string | undefined;
}

export interface SharedChannel {
  /** The name in lower case. */
  readonly id: string;
  readonly name: string;
}

export interface TypedLinesOptions {
  readonly settings: { readonly COMMAND_PREFIX: string; readonly COMMAND_WORD: string };
  readonly bridge: Pick<Bridge, "command" | "action" | "message">;
  readonly view: ShownView;
  readonly log: Logger;
  /** Resolves when the kit has saved a message, or soon after the message was dropped. */
  untilKnown(messageId: string): Promise<void>;
  /** Sends a hint that only the member sees. `channel` is the id of the channel that the hint is about. */
  hint(member: MemberIdentity, text: string, channel?: string): void;
  /** Called when a member has typed a command or a choice in a channel. */
  onTyped?(member: MemberIdentity, channel: string): void;
  /** Returns the channels that a member shares with the bridge. */
  sharedChannels?(member: MemberIdentity): readonly SharedChannel[];
}

/** Minimum milliseconds between two hints to a member. */
const HINT_GAP_MS = 10_000;
/**
 * Minimum milliseconds between two hints to a member about numbers without prefix. Such a number can be part of a
 * conversation.
 */
const BARE_GAP_MS = 10 * 60_000;
const HINTED_MAX = 1_000;
const ID_MAX = 100;
/** Maximum number of channels that a hint names. */
const NAMED_MAX = 3;

/** Returns a function that reports what a member typed: a command, a choice, or an answer to a prompt. */
export function typedLines(options: TypedLinesOptions) {
  const lines = new TypedLines(options);
  return (line: TypedLine): Promise<void> => lines.read(line);
}

class TypedLines {
  readonly #options: TypedLinesOptions;
  readonly #hinted = membersFor(HINT_GAP_MS);
  readonly #hintedBare = membersFor(BARE_GAP_MS);

  constructor(options: TypedLinesOptions) {
    this.#options = options;
  }

  async read(line: TypedLine): Promise<void> {
    const { settings, view, onTyped } = this.#options;
    const text = plainText(line.text);
    const { member, channel } = line;
    if (text === "") return;
    if (channel === undefined) return this.#direct(line, text);
    const command = readCommand(text, settings);
    const number = readChoice(text, settings);
    if (command !== undefined) await this.#command(line, channel, command);
    else if (number !== undefined) await this.#number(number, channel.id, line);
    else if (isPromptWaiting(view, channel.id, member.id, readChoice(text, settings, true)))
      return this.#send(line, channel, text);
    else this.#bareNumber(member, channel.id, text);
    if (command !== undefined || number !== undefined) onTyped?.(member, channel.id);
  }

  async #direct(line: TypedLine, text: string): Promise<void> {
    const { settings, view } = this.#options;
    const { COMMAND_PREFIX: prefix } = settings;
    const { member } = line;
    const place = dmChannel(member.id);
    if (readCommand(text, settings) !== undefined) {
      return this.#tell(member, `Commands do not work here. ${this.#howToPlay(member)}`);
    }
    const hasPrefix = text.startsWith(prefix);
    const isChoice = hasPrefix || !isPromptNewest(view, member.id);
    const number = readChoice(text, settings, isChoice);
    if (number !== undefined && meaningOfNumber(view, place, member.id).type === "choice") {
      return this.#number(number, place, line);
    }
    await this.#send(line, place, text);
    // A game that has written to the member may be waiting for this text.
    if (isTalking(view, member.id)) return;
    const where = this.#whereToType(member, number);
    const what = number === undefined ? "Answers" : "Numbers";
    const hint =
      where === ""
        ? "No question is waiting for an answer here."
        : `${what} count in the channel of the question: type ${where}.`;
    const needsHelp = where === "" || asksForHelp(text);
    this.#tell(member, needsHelp ? `${hint} ${this.#howToPlay(member)}` : hint);
  }

  /**
   * Returns how and where a member can answer an open question of a channel with `number`, or with a text if `number`
   * is undefined. Returns "" if no such question is open.
   */
  #whereToType(member: MemberIdentity, number: number | undefined): string {
    const { settings, view, sharedChannels } = this.#options;
    const channels = sharedChannels?.(member) ?? [];
    if (number === undefined) {
      const names = namesOf(channels.filter(({ id }) => isPromptWaiting(view, id, member.id, undefined)));
      return names && `yours in ${names}`;
    }
    const typeOf = ({ id }: SharedChannel) => meaningOfNumber(view, id, member.id).type;
    const withType = (type: string): string => namesOf(channels.filter((each) => typeOf(each) === type));
    const [choices, prompts] = [withType("choice"), withType("no choices")];
    return [
      choices && `${settings.COMMAND_PREFIX}${number} in ${choices}`,
      prompts && `${number} in ${prompts}`,
    ]
      .filter((each) => each !== "")
      .join(", or ");
  }

  #bareNumber(member: MemberIdentity, channel: string, text: string): void {
    const { settings, view } = this.#options;
    const number = readChoice(text, settings, true);
    if (number === undefined || !isNewestChoice(view, channel, member.id, number)) return;
    if (this.#hintedBare.has(member.id) || this.#hinted.has(member.id)) return;
    this.#hintedBare.set(member.id, true);
    this.#tell(member, `To answer, type ${settings.COMMAND_PREFIX}${number}.`, channel);
  }

  #howToPlay(member: MemberIdentity): string {
    const { COMMAND_PREFIX: prefix, COMMAND_WORD: word } = this.#options.settings;
    return `To play, type ${prefix}${word} in ${namesOf(this.#options.sharedChannels?.(member) ?? []) || "a channel"}.`;
  }

  #command(line: TypedLine, channel: { id: string; name: string }, text: string): Promise<void> {
    const { member: user, id } = line;
    return this.#report(
      line,
      "command",
      this.#options.bridge.command({ channel, user, text, ...requestId(id) }),
    );
  }

  async #number(number: number, place: string, line: TypedLine): Promise<void> {
    const { view, settings } = this.#options;
    const { member } = line;
    const typed = `${settings.COMMAND_PREFIX}${number}`;
    const meaning = meaningOfNumber(view, place, member.id);
    switch (meaning.type) {
      case "choice":
        return this.#press(number, place, meaning.shown, line);
      case "too early":
        return this.#tell(member, `The choices are not printed yet: type ${typed} when you see them.`, place);
      case "too late":
        return this.#tell(member, "Too late: these choices are closed. Wait for the next ones.", place);
      case "no choices": {
        const { COMMAND_PREFIX: prefix } = settings;
        const hint = `This question has no choices: type ${number} without ${prefix}.`;
        return this.#tell(member, hint, place);
      }
      case "none":
        return undefined;
    }
  }

  async #press(number: number, place: string, shown: SentMessage, line: TypedLine): Promise<void> {
    const { bridge, settings, untilKnown } = this.#options;
    const { member, id } = line;
    const choices = choicesOf(shown.message.buttons);
    const choice = choices[number - 1];
    const [chatMessageId] = shown.chatMessageIds;
    if (choice === undefined || chatMessageId === undefined) {
      const prefix = place.startsWith("dm:") ? "" : settings.COMMAND_PREFIX;
      const how = howToAnswer(choices.length, prefix, shown.message.awaitsReply);
      return this.#tell(member, `There is no choice ${number}: ${how}.`, place);
    }
    const sending = untilKnown(shown.messageId).then(() =>
      bridge.action({ chatMessageId, user: member, action: choice.action, ...requestId(id) }),
    );
    return this.#report(line, "action", sending);
  }

  #send(line: TypedLine, channel: string | { id: string; name: string }, text: string): Promise<void> {
    const { member: user, id } = line;
    const sending = this.#options.bridge.message({ channel, user, text, ...requestId(id) });
    return this.#report(line, "message", sending);
  }

  async #report({ member, channel }: TypedLine, type: string, sending: Promise<{ outcome: string }>) {
    const { outcome } = await sending;
    if (outcome === "accepted") return;
    this.#options.log.warn({ type, outcome }, "the service did not accept what a member did");
    this.#tell(member, "That did not reach the games. Try again in a minute.", channel?.id);
  }

  #tell(member: MemberIdentity, text: string, place?: string): void {
    if (this.#hinted.has(member.id)) return;
    this.#hinted.set(member.id, true);
    this.#options.hint(member, text, place);
  }
}

/** Returns a map of the members who got a hint in the last `ttl` milliseconds. */
function membersFor(ttl: number): LRUCache<string, true> {
  return new LRUCache({ max: HINTED_MAX, ttl, perf: { now: () => performance.now() } });
}

/** Returns the names of the first few channels, for a hint; "" if there are no channels. */
function namesOf(channels: readonly SharedChannel[]): string {
  return channels
    .slice(0, NAMED_MAX)
    .map(({ name }) => name)
    .join(" or ");
}

/** Returns a request id that contains the server's id of a line, so that the service ignores a repeated line. */
function requestId(id: string | undefined): { readonly id?: string } {
  return id === undefined || id.length > ID_MAX ? {} : { id: `irc-${id}` };
}
