import { DM_PREFIX } from "../../../contract/forms";
import { notice, showTopic, showTopicThanks } from "../view/cards";
import { answer, tell } from "./game";
import type { MessageInput, Turn } from "./input-output";
import type { Workspace } from "./workspace";

const NUMBER_FORM = /^[+-]?\d{1,12}(?:\.\d{1,6})?$/;
const TOPIC_MAX = 300;

/**
 * Accepts a typed message if a question or a prompt is waiting for an answer. A bridge can
 * report every message of a channel, so most messages have no output.
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
  const value = readNumber(text);
  if (value !== undefined) answer(game, member, game.phase.index, value, turn);
  // A reply was meant for the game, so its author gets a notice. Other text is ordinary conversation.
  else if (replyTo !== undefined) tell(game, member, notice("not-a-number"), turn);
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

/** Parses a number. Spaces, commas or underscores can separate thousands. Returns undefined for other text. */
function readNumber(text: string): number | undefined {
  const digits = text.trim().replaceAll(/(?<=\d)[ ,_](?=\d{3}(?:\D|$))/g, "");
  return NUMBER_FORM.test(digits) ? Number(digits) : undefined;
}
