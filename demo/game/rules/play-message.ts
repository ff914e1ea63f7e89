import { showTopic, showTopicThanks } from "../view/cards";
import { notice } from "../view/notices";
import { withoutEntry } from "./bounded-map";
import { answer } from "./game";
import type { MessageInput } from "./input";
import { tellMember } from "./output";
import { withGame, type Step } from "./step";
import type { Workspace } from "./workspace-state";

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
function playTopic(workspace: Workspace, input: MessageInput, nowMs: number): Step | undefined {
  const { channel, member } = input;
  const prompt = workspace.prompts.get(member.id);
  const topic = [...input.text.trim()].slice(0, TOPIC_MAX).join("");
  if (prompt === undefined || channel !== `dm:${member.id}` || topic === "") return undefined;
  if (nowMs >= prompt.untilMs) return undefined;
  return {
    workspace: { ...workspace, prompts: withoutEntry(workspace.prompts, member.id) },
    outputs: [
      {
        type: "message.update",
        channel,
        target: { ref: prompt.ref },
        content: showTopicThanks(topic),
      },
      { type: "message.create", channel: prompt.channel, content: showTopic(member, topic) },
    ],
  };
}

/** Parses a number with optional spaces, commas or underscores between thousands; undefined if it is not a number. */
function readNumber(text: string): number | undefined {
  const digits = text.trim().replaceAll(/(?<=\d)[ ,_](?=\d{3}(?:\D|$))/g, "");
  return NUMBER_FORM.test(digits) ? Number(digits) : undefined;
}
