import type { Bridge } from "./bridge";
import type { Message } from "./events";
import { dmChannel, type User } from "./inbound-event";
import { howToAnswer, numberedChoices } from "./numbered-choices";
import { createSeenIds } from "./seen-ids";
import type { ShownMessage } from "./shown-messages";
import { asksForHelp, PROMPTS_SEEN, readChoice, readCommand, type Typing } from "./typed-text";

/** A line that a member typed. */
export interface TypedLine {
  readonly user: User;
  /** The channel; undefined if the member wrote to the bridge privately. */
  readonly channel: { readonly id: string; readonly name?: string | null } | undefined;
  readonly text: string;
  /** The chat's id for the line, if the chat can deliver a line twice. */
  readonly id?: string | undefined;
  /** For a private line: the channels that the member shares with the bridge. Hints name these channels. */
  readonly sharedChannels?: readonly SharedChannel[];
}

export interface SharedChannel {
  readonly id: string;
  /** The name by which members know the channel. */
  readonly name: string;
}

export interface TextChatOptions {
  readonly bridge: Pick<Bridge, "command" | "choose" | "message" | "shownIn">;
  readonly settings: Typing;
  /** The chat's word for a channel, in the singular, e.g. "room". */
  readonly channelWord?: string;
}

/** Maximum number of members whose last hints are remembered. */
const HINTED_MAX = 1_000;
/** Minimum milliseconds between two hints to a member. */
const HINT_GAP_MS = 10_000;
/**
 * Minimum milliseconds between two explanations of the same kind to a member. This also ends a loop between two bots.
 */
const EXPLAIN_GAP_MS = 10 * 60_000;
/** Maximum number of explanations that are remembered: a few kinds for each member. */
const EXPLAINED_MAX = 5_000;
/** Maximum number of channels that a hint names. */
const CHANNELS_NAMED = 3;
const FIRST_TEXT_COUNTS =
  "Only your first text counts, not the edit. To send something else, write a new message.";

/** `kind` names the mistake that the text explains. The minimum wait applies to each kind separately. */
type Hint =
  | { readonly type: "fault"; readonly text: string }
  | { readonly type: "explanation"; readonly kind: string; readonly text: string };

/**
 * Reports what members type in a chat without buttons. "!play start" is a command, and "!2" presses the second button
 * of the newest message. Other text is sent while a game waits for text.
 */
export class TextChat {
  readonly #bridge: TextChatOptions["bridge"];
  readonly #settings: Typing;
  readonly #channelWord: string;
  readonly #hinted = createSeenIds({ forMs: HINT_GAP_MS, most: HINTED_MAX });
  readonly #explained = createSeenIds({ forMs: EXPLAIN_GAP_MS, most: EXPLAINED_MAX });

  constructor({ bridge, settings, channelWord = "channel" }: TextChatOptions) {
    this.#bridge = bridge;
    this.#settings = settings;
    this.#channelWord = channelWord;
  }

  /**
   * Reports a line to the service. Resolves to a hint, which only the member should see. Resolves to undefined if there
   * is nothing to say, or if the member got a hint in the last 10 seconds. Never rejects.
   */
  async report(line: TypedLine): Promise<string | undefined> {
    const text = line.text.trim();
    if (text === "") return undefined;
    const hint =
      line.channel === undefined
        ? await this.#private(line, text)
        : await this.#public(line, line.channel, text);
    return hint && this.#limited(line.user.id, hint);
  }

  /** Returns whether a line in a channel is a command or a number with the prefix. */
  isForGames({ text }: Pick<TypedLine, "text">): boolean {
    return readCommand(text, this.#settings) !== undefined || readChoice(text, this.#settings) !== undefined;
  }

  /**
   * Returns an explanation for a member. Returns undefined if the member got an explanation of this kind in the last 10
   * minutes, or any hint in the last 10 seconds. `kind` is the bridge's name for the mistake; a bridge should use only
   * a few kinds.
   */
  explain(userId: string, text: string, kind = ""): string | undefined {
    return this.#limited(userId, { type: "explanation", kind: `bridge:${kind}`, text });
  }

  /** Returns an explanation for a member who changed a line after sending it, if the line was for the games. */
  explainCorrection(line: TypedLine): string | undefined {
    if (line.channel !== undefined && !this.isForGames(line)) return undefined;
    return this.#limited(line.user.id, { type: "explanation", kind: "correction", text: FIRST_TEXT_COUNTS });
  }

  async #public(
    line: TypedLine,
    channel: NonNullable<TypedLine["channel"]>,
    text: string,
  ): Promise<Hint | undefined> {
    const { COMMAND_PREFIX: prefix } = this.#settings;
    const command = readCommand(text, this.#settings);
    if (command !== undefined) return unsent(this.#bridge.command({ ...head(line), channel, text: command }));
    const number = readChoice(text, this.#settings);
    const pressed = number === undefined ? undefined : await this.#press(line, channel.id, number, prefix);
    if (pressed?.isChoice) return pressed.hint;
    const isNewest = this.#isTextAwaited(line.user.id, channel.id, 1);
    if (number !== undefined) {
      const says = `This question has no choices: type ${number} without ${prefix}.`;
      return isNewest ? { type: "explanation", kind: "no-choices", text: says } : undefined;
    }
    if (!isNewest && this.#isNewerChoice(line.user.id, channel.id, text))
      return { type: "explanation", kind: "no-prefix", text: `To answer, type ${prefix}${text}.` };
    if (!this.#isTextAwaited(line.user.id, channel.id)) return undefined;
    return unsent(this.#bridge.message({ ...head(line), channel, text }));
  }

  async #private(line: TypedLine, text: string): Promise<Hint | undefined> {
    const { COMMAND_PREFIX: prefix, COMMAND_WORD: word } = this.#settings;
    const { sharedChannels = [], user } = line;
    const names = namesOf(sharedChannels);
    const howToPlay = `To play, type ${prefix}${word} in ${names === "" ? `a ${this.#channelWord}` : names}.`;
    if (readCommand(text, this.#settings) !== undefined) {
      return { type: "fault", text: `Commands do not work here. ${howToPlay}` };
    }
    const channel = dmChannel(user.id);
    const shown = this.#bridge.shownIn(channel);
    // A number without the prefix can be the answer to a prompt.
    const isPrompt = shown[0]?.message.awaitsReply === true;
    const number = readChoice(text, this.#settings, !isPrompt);
    if (number !== undefined) {
      const pressed = await this.#press(line, channel, number, "");
      if (pressed.isChoice) return pressed.hint;
    }
    // The service ignores text for which no game waits, so all text is sent.
    const fault = await unsent(this.#bridge.message({ ...head(line), channel, text }));
    if (fault !== undefined) return fault;
    if (shown.slice(0, PROMPTS_SEEN).some(({ message }) => message.awaitsReply)) return undefined;
    const where = this.#whereToType(line, number);
    if (where === "") {
      const says = `No question is waiting for an answer here. ${howToPlay}`;
      return { type: "explanation", kind: "no-question", text: says };
    }
    const [kind, what] =
      number === undefined
        ? (["private-text", "Answers"] as const)
        : (["private-number", "Numbers"] as const);
    const says = `${what} count in the ${this.#channelWord} of the question: type ${where}.`;
    return { type: "explanation", kind, text: asksForHelp(text) ? `${says} ${howToPlay}` : says };
  }

  /**
   * Returns how a member can type a number, or a text if `number` is undefined, in the channels with an open question; ""
   * if there is no such question.
   */
  #whereToType({ user, sharedChannels = [] }: TypedLine, number: number | undefined): string {
    if (number === undefined) {
      const names = namesOf(sharedChannels.filter(({ id }) => this.#isTextAwaited(user.id, id)));
      return names && `yours in ${names}`;
    }
    const hasChoices = ({ id }: SharedChannel): boolean =>
      this.#visibleTo(user.id, id).some(({ message }) => highestChoice(message.buttons) > 0);
    const choices = namesOf(sharedChannels.filter(hasChoices));
    const prompts = namesOf(
      sharedChannels.filter((each) => !hasChoices(each) && this.#isTextAwaited(user.id, each.id, 1)),
    );
    return [
      choices && `${this.#settings.COMMAND_PREFIX}${number} in ${choices}`,
      prompts && `${number} in ${prompts}`,
    ]
      .filter(Boolean)
      .join(", or ");
  }

  /** Presses a button. `isChoice` is false if no message has buttons with actions. */
  async #press(
    line: TypedLine,
    channel: string,
    number: number,
    prefix: string,
  ): Promise<{ readonly isChoice: boolean; readonly hint: Hint | undefined }> {
    const result = await this.#bridge.choose({ ...head(line), channel, number });
    if (result.outcome !== "unknown-choice") return { isChoice: true, hint: faultOf(result.outcome) };
    const { highest } = result;
    if (highest === 0) return { isChoice: false, hint: undefined };
    const text = `There is no choice ${number}: ${howToAnswer(highest, prefix, this.#isTextAwaited(line.user.id, channel, 1))}.`;
    return { isChoice: true, hint: { type: "fault", text } };
  }

  /**
   * Returns whether a text is the number of a choice in the newest message, or in a message after the newest prompt.
   * Such a number does not answer the prompt.
   */
  #isNewerChoice(userId: string, channel: string, text: string): boolean {
    const number = readChoice(text, this.#settings, true);
    const visible = this.#visibleTo(userId, channel);
    const prompt = visible.findIndex(({ message }) => message.awaitsReply);
    return visible.slice(0, Math.max(1, prompt)).some((shown) => hasChoice(shown, number));
  }

  /**
   * Returns whether the newest message for only this member, or one of the newest messages for the whole channel, waits
   * for text. A message for one member cannot be updated, so a later one ends its wait.
   */
  #isTextAwaited(userId: string, channel: string, among = PROMPTS_SEEN): boolean {
    const visible = this.#visibleTo(userId, channel);
    const newest = (isOwn: boolean, most: number) =>
      visible.filter(({ user }) => (user !== null) === isOwn).slice(0, most);
    return [...newest(false, among), ...newest(true, 1)].some(({ message }) => message.awaitsReply);
  }

  #visibleTo(userId: string, channel: string): readonly ShownMessage[] {
    return this.#bridge.shownIn(channel).filter(({ user }) => user === null || user === userId);
  }

  /** Returns the text of a hint, or undefined if the member got a hint too recently. */
  #limited(userId: string, hint: Hint): string | undefined {
    const nowMs = Date.now();
    const explained = hint.type === "explanation" ? `${hint.kind} ${userId}` : undefined;
    if (this.#hinted.has(userId, nowMs)) return undefined;
    if (explained !== undefined && this.#explained.has(explained, nowMs)) return undefined;
    this.#hinted.add(userId, nowMs);
    if (explained !== undefined) this.#explained.add(explained, nowMs);
    return hint.text;
  }
}

function head({ user, id }: TypedLine): Pick<TypedLine, "user"> & { readonly id?: string } {
  return id === undefined ? { user } : { user, id };
}

async function unsent(sending: Promise<{ readonly outcome: string }>): Promise<Hint | undefined> {
  return faultOf((await sending).outcome);
}

function faultOf(outcome: string): Hint | undefined {
  if (outcome === "accepted") return undefined;
  return { type: "fault", text: "That did not reach the games. Try again in a minute." };
}

/** Returns the names of the first channels, for a hint; "" for none. */
function namesOf(channels: readonly SharedChannel[]): string {
  return channels
    .slice(0, CHANNELS_NAMED)
    .map(({ name }) => name)
    .join(" or ");
}

/** Returns the highest number that members can choose; 0 if no button has an action. */
function highestChoice(buttons: Message["buttons"]): number {
  return Math.max(0, ...numberedChoices(buttons).map(({ number = 0 }) => number));
}

function hasChoice(shown: ShownMessage | undefined, number: number | undefined): boolean {
  if (shown === undefined || number === undefined) return false;
  return numberedChoices(shown.message.buttons).some((choice) => choice.number === number);
}
