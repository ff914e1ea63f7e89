import type { Member, MessageContent } from "../../../kit/game/index";
import { notice, showUnclearNumber } from "../view/cards";
import { answer } from "./game";
import type { Game } from "./game-state";
import { readNumber } from "./read-number";

/**
 * Accepts a typed number for the current question, and returns the notice for the member. A bridge can report every
 * message of a channel, so most messages are ignored.
 *
 * @param isReply whether the text is a reply to the live message; some chats have no replies
 */
export function answerNumber(
  game: Game,
  member: Member,
  text: string,
  isReply: boolean,
  nowMs: number,
): MessageContent | undefined {
  if (game.phase.name !== "question" || game.phase.question.kind !== "number") return undefined;
  const { question, index } = game.phase;
  // In a reply, any word can be the unit. In other messages, only the question's own unit counts: "5 minutes" is
  // ordinary conversation.
  const isUnit = (word: string): boolean =>
    isReply || ["%", "°"].includes(word) || isUnitOf(question.unit, word);
  const typed = readNumber(text, isUnit);
  if (typed.is === "number") return answer(game, member, index, typed.value, nowMs);
  if (typed.is === "unclear") return showUnclearNumber(typed);
  return isReply ? notice("not-a-number") : undefined;
}

const SHORT_UNITS: Readonly<Record<string, string>> = { kilometres: "km", metres: "m" };

/** Returns whether a word is the full or the short form of a question's unit. */
function isUnitOf(unit: string, word: string): boolean {
  return word === SHORT_UNITS[unit] || word.toLowerCase() === unit.toLowerCase();
}
