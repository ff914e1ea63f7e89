import { DM_PREFIX } from "../../../contract/forms";
import { notice, showTopic, showTopicThanks } from "../view/cards";
import { answer } from "./game";
import { tellMember, type MessageInput } from "./input-output";
import { withGame, type Step, type Workspace } from "./workspace";

const NUMBER_FORM = /^[+-]?\d{1,12}(?:\.\d{1,6})?$/;
const TOPIC_MAX = 300;

/**
 * Accepts a typed message as an answer if a question or prompt waits for one. A
 * bridge may report every message of a channel, so most have no output.
 */
export function playMessage(workspace: Workspace, input: MessageInput, nowMs: number): Step {
  return (
    playNumber(workspace, input, nowMs) ?? playTopic(workspace, input, nowMs) ?? { workspace, outputs: [] }
  );
}

/** Accepts a number for the channel's current question. `replyTo` is optional, because some chats have no replies. */
function playNumber(workspace: Workspace, input: MessageInput, nowMs: number): Step | undefined {
  const { channel, member, replyTo } = input;
  const game = workspace.games.get(channel);
  if (game === undefined || game.phase.name !== "question") return undefined;
  if (game.questions[game.phase.index]?.kind !== "number") return undefined;
  if (replyTo !== undefined && replyTo !== game.id) return undefined;
  const value = readNumber(input.text);
  if (value !== undefined) return withGame(workspace, answer(game, member, game.phase.index, value, nowMs));
  // A reply was meant for the game, so its member is told; other text is ordinary conversation.
  if (replyTo === undefined) return undefined;
  return { workspace, outputs: [tellMember(channel, member.id, notice("not-a-number"))] };
}

/** Accepts a topic for the member's latest prompt, in a direct conversation, whichever message it replies to. */
function playTopic(workspace: Workspace, { channel, member, text }: MessageInput, nowMs: number) {
  const prompt = workspace.prompts.get(member.id);
  const topic = [...text.trim()].slice(0, TOPIC_MAX).join("");
  if (prompt === undefined || channel !== DM_PREFIX + member.id || topic === "") return undefined;
  if (nowMs >= prompt.untilMs) return undefined;
  const prompts = new Map(workspace.prompts);
  prompts.delete(member.id);
  const thanks = showTopicThanks(topic);
  return {
    workspace: { ...workspace, prompts },
    outputs: [
      { type: "message.update", channel, target: { ref: prompt.ref }, content: thanks },
      { type: "message.create", channel: prompt.channel, content: showTopic(member, topic) },
    ],
  } satisfies Step;
}

/** Parses a number with optional spaces, commas or underscores between thousands; undefined if it is not a number. */
function readNumber(text: string): number | undefined {
  const digits = text.trim().replaceAll(/(?<=\d)[ ,_](?=\d{3}(?:\D|$))/g, "");
  return NUMBER_FORM.test(digits) ? Number(digits) : undefined;
}
