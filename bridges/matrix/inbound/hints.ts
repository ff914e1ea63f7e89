import { readChoice, readCommand } from "chat-bridge-runner";
import { choicesOf, keycap, KEYCAPS_MAX } from "../chat/choices";
import { asks } from "../chat/questions";
import type { MatrixEvent } from "../client/events";
import { fieldsOf } from "../client/fields";
import type { MemberAct, RoomView, ShownEvent, Typing } from "./member-act";

type Hint = Extract<MemberAct, { type: "hint" }>;

/** A text that is only a number. A longer text may be part of a conversation, or be meant for another bot. */
const NUMBER = /^\s*-?\d[\d.,]{0,15}\s*$/;

const FIRST_TEXT_COUNTS =
  "Only your first text counts, not the edit. To send something else, write a new message.";
export const NOT_IN_DIRECT_ROOMS = "Commands do not work here.";

/**
 * The hints for events that look like an answer, but do not count: a number without the prefix, another reaction, and
 * an edit. Members get these hints only while a question waits for an answer.
 */

/** Returns the hint for a number without the prefix; undefined if the text is not a number of an open choice. */
export function numberHint(text: string, room: RoomView, typing: Typing): Hint | undefined {
  const number = readChoice(text, typing, true);
  const [newest] = room.newest();
  if (number === undefined || newest === undefined || number > choicesOf(newest.message).length) {
    return undefined;
  }
  const typed = `${typing.COMMAND_PREFIX}${number}`;
  const how = number > KEYCAPS_MAX ? `type ${typed}` : `type ${typed}, or add the reaction ${keycap(number)}`;
  return { type: "hint", topic: "number", text: `To answer, ${how}.` };
}

/** Returns the hint for a reaction that is not the number of a choice; undefined if the message has no choices. */
export function reactionHint({ message }: ShownEvent, typing: Typing): Hint | undefined {
  const count = choicesOf(message).length;
  if (count === 0) return undefined;
  const [first, last] = [keycap(1), keycap(Math.min(count, KEYCAPS_MAX))];
  const reactions = count === 1 ? `the reaction ${first}` : `one of the reactions ${first} to ${last}`;
  return {
    type: "hint",
    topic: "reaction",
    text: `To answer, add ${reactions}, or type ${typedNumbers(count, typing)}.`,
  };
}

/** Returns the choices that members can type: "!1", "!1 or !2", or "!1 to !4". */
export function typedNumbers(count: number, { COMMAND_PREFIX: prefix }: Typing): string {
  if (count === 1) return `${prefix}1`;
  return `${prefix}1 ${count === 2 ? "or" : "to"} ${prefix}${count}`;
}

/** Returns the hint for an edit that would be an answer or a command; undefined for other edits. */
export function editHint({ content }: MatrixEvent, room: RoomView, typing: Typing): Hint | undefined {
  const { body } = fieldsOf(content["m.new_content"]);
  if (typeof body !== "string") return undefined;
  const isCommand = readCommand(body, typing) !== undefined;
  const isAnswer = NUMBER.test(body) || readChoice(body, typing) !== undefined;
  const [newest] = room.newest();
  if (!isCommand && !(isAnswer && newest !== undefined && asks(newest.message))) return undefined;
  return { type: "hint", topic: "edit", text: FIRST_TEXT_COUNTS };
}
