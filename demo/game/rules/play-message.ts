import { DM_PREFIX } from "../../../contract/forms";
import { notice, showUnclearNumber, showTopic, showTopicThanks } from "../view/cards";
import { answer, tell } from "./game";
import type { MessageInput, Turn } from "./input-output";
import { readNumber } from "./read-number";
import type { Workspace } from "./workspace";

const TOPIC_MAX = 300;

/**
 * Accepts a typed message if a question or a prompt is waiting for an answer. A bridge can report every message of a
 * channel, so most messages cause no output.
 */
export function playMessage(workspace: Workspace, input: MessageInput, turn: Turn): void {
  if (input.channel.startsWith(DM_PREFIX)) playTopic(workspace, input, turn);
  else playNumber(workspace, input, turn);
}

/** Accepts a number for the channel's current question. `replyTo` is optional, because some chats have no replies. */
function playNumber(
  { games }: Workspace,
  { channel, member, text, replyTo }: MessageInput,
  turn: Turn,
): void {
  const game = games.get(channel);
  if (game?.phase.name !== "question" || game.phase.question.kind !== "number") return;
  if (replyTo !== undefined && replyTo !== game.id) return;
  const { question, index } = game.phase;
  // In a reply, any word can be the unit. In other messages, only the question's own unit counts: "5 minutes" is
  // ordinary conversation.
  const isUnit = (word: string): boolean =>
    replyTo !== undefined || ["%", "°"].includes(word) || isUnitOf(question.unit, word);
  const typed = readNumber(text, isUnit);
  if (typed.is === "number") answer(game, member, index, typed.value, turn);
  else if (typed.is === "unclear") tell(game, member, showUnclearNumber(typed), turn);
  else if (replyTo !== undefined) tell(game, member, notice("not-a-number"), turn);
}

const SHORT_UNITS: Readonly<Record<string, string>> = { kilometres: "km", metres: "m" };

/** Returns whether a word is the full or the short form of a question's unit. */
function isUnitOf(unit: string, word: string): boolean {
  return word === SHORT_UNITS[unit] || word.toLowerCase() === unit.toLowerCase();
}

/** Accepts a topic for the member's latest prompt, even if the message is not a reply to the prompt. */
function playTopic({ prompts }: Workspace, { channel, member, text }: MessageInput, turn: Turn): void {
  const prompt = prompts.get(member.id);
  const topic = [...text.trim()].slice(0, TOPIC_MAX).join("");
  if (prompt === undefined || turn.nowMs >= prompt.untilMs || topic === "") return;
  prompts.delete(member.id);
  turn.outputs.push(
    { type: "message.update", channel, target: { ref: prompt.ref }, content: showTopicThanks(topic) },
    { type: "message.create", channel: prompt.channel, content: showTopic(member, topic) },
  );
}
