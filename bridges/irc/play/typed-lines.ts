import { dmChannel, type Bridge } from "chat-bridge-kit";
import { readChoice, readCommand, type Logger } from "chat-bridge-runner";
import { LRUCache } from "lru-cache";
import type { MemberIdentity } from "../state/members";
import { choicesOf, howToAnswer } from "../text/choices-line";
import { plainText } from "../text/plain-text";
import { isPromptNewest, isPromptWaiting, messageWithChoices, type ShownView } from "./find-choices";

/** A line that a member typed. */
export interface TypedLine {
  readonly member: MemberIdentity;
  /** The channel: `id` in lower case, and `name` as written; undefined for a private message to the bridge. */
  readonly channel: { readonly id: string; readonly name: string } | undefined;
  readonly text: string;
  /** The server's id of the line, if it has one. */
  readonly id: string | undefined;
}

export interface TypedLinesOptions {
  readonly settings: { readonly COMMAND_PREFIX: string; readonly COMMAND_WORD: string };
  readonly bridge: Pick<Bridge, "command" | "action" | "message">;
  readonly view: ShownView;
  readonly log: Logger;
  /** Resolves when the kit has saved a message, or soon after the message was dropped. */
  untilKnown(messageId: string): Promise<void>;
  /** Sends a hint that only the member sees. */
  hint(member: MemberIdentity, text: string): void;
}

/** Minimum milliseconds between two hints to a member. */
const HINT_GAP_MS = 10_000;
const HINTED_MAX = 1_000;
const ID_MAX = 100;

/** Returns a function that reports what a member typed: a command, a choice, or an answer to a prompt. */
export function typedLines({ settings, bridge, view, log, untilKnown, hint }: TypedLinesOptions) {
  const { COMMAND_PREFIX: prefix, COMMAND_WORD: word } = settings;
  const hinted = new LRUCache<string, true>({ max: HINTED_MAX, ttl: HINT_GAP_MS });

  function tell(member: MemberIdentity, text: string): void {
    if (hinted.has(member.id)) return;
    hinted.set(member.id, true);
    hint(member, text);
  }

  async function report(member: MemberIdentity, type: string, sending: Promise<{ outcome: string }>) {
    const { outcome } = await sending;
    if (outcome === "accepted") return;
    log.warn({ type, outcome }, "the service did not accept what a member did");
    tell(member, "That did not reach the games. Try again in a minute.");
  }

  function press(number: number, place: string, { member, id }: TypedLine): Promise<void> | undefined {
    const shown = messageWithChoices(view, place, member.id);
    if (shown === undefined) return undefined;
    const choices = choicesOf(shown.message.buttons);
    const choice = choices[number - 1];
    const [chatMessageId] = shown.chatMessageIds;
    if (choice === undefined || chatMessageId === undefined) {
      const inChannel = place.startsWith("dm:") ? "" : prefix;
      tell(member, `There is no choice ${number}: ${howToAnswer(choices.length, inChannel)}.`);
      return Promise.resolve();
    }
    const sending = untilKnown(shown.messageId).then(() =>
      bridge.action({ chatMessageId, user: member, action: choice.action, ...requestId(id) }),
    );
    return report(member, "action", sending);
  }

  function send(line: TypedLine, channel: string | { id: string; name: string }, text: string) {
    const { member: user, id } = line;
    return report(user, "message", bridge.message({ channel, user, text, ...requestId(id) }));
  }

  async function direct(line: TypedLine, text: string): Promise<void> {
    const { member } = line;
    const place = dmChannel(member.id);
    if (readCommand(text, settings) !== undefined) {
      return tell(member, `Commands work in a channel: type ${prefix}${word} there.`);
    }
    const hasPrefix = text.startsWith(prefix);
    const number = readChoice(text, settings, hasPrefix || !isPromptNewest(view, member.id));
    const pressed = number === undefined ? undefined : press(number, place, line);
    return pressed ?? send(line, place, text);
  }

  return async (line: TypedLine): Promise<void> => {
    const text = plainText(line.text);
    const { member, channel, id } = line;
    if (text === "") return;
    if (channel === undefined) return direct(line, text);
    const command = readCommand(text, settings);
    if (command !== undefined) {
      return report(
        member,
        "command",
        bridge.command({ channel, user: member, text: command, ...requestId(id) }),
      );
    }
    const number = readChoice(text, settings);
    if (number !== undefined) return press(number, channel.id, line);
    if (isPromptWaiting(view, channel.id, member.id)) return send(line, channel, text);
  };
}

/** Returns the request id for the server's id of a line, so that the service ignores a repeated line. */
function requestId(id: string | undefined): { readonly id?: string } {
  return id === undefined || id.length > ID_MAX ? {} : { id: `irc-${id}` };
}
