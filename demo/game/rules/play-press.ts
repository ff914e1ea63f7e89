import { showRematchAnswer, showSettings } from "../view/cards";
import { notice } from "../view/notices";
import { withEntry } from "./bounded-map";
import { readAction } from "./button-action";
import { answer, begin, join } from "./game";
import type { ActionInput } from "./input";
import { findGame, openGameIn, settingsOf } from "./open-game-in";
import { tellMember, type MessageContent, type Output } from "./output";
import { withGame, type Step } from "./step";
import type { ChannelSettings, Rules, Workspace } from "./workspace-state";

const SETTINGS_MAX = 1_000;
export const ROUNDS = { min: 1, max: 15 } as const;
export const SECONDS_PER_QUESTION = { min: 5, max: 60 } as const;

/** Runs the action of a pressed button. */
export function playPress(rules: Rules, workspace: Workspace, input: ActionInput, nowMs: number): Step {
  const { channel, member, messageId, eventId } = input;
  const action = readAction(input.action);
  // Every group gets all events of a workspace, so this is another game's button.
  if (action === undefined) return { workspace, outputs: [] };

  /** Returns an update that replaces the message with the button. */
  const replace = (content: MessageContent): Output => ({
    type: "message.update",
    channel,
    target: { messageId },
    content,
  });

  switch (action.do) {
    case "join":
    case "begin":
    case "answer": {
      const game = findGame(workspace, channel, action.gameId);
      if (game === undefined) {
        return { workspace, outputs: [tellMember(channel, member.id, notice("game-is-over"))] };
      }
      if (action.do === "join") return withGame(workspace, join(game, member, nowMs));
      if (action.do === "begin") return withGame(workspace, begin(game, member, nowMs));
      if (game.questions[action.question]?.kind !== "choice") return { workspace, outputs: [] };
      return withGame(workspace, answer(game, member, action.question, action.option, nowMs));
    }
    case "rounds":
    case "seconds": {
      const before = settingsOf(rules, workspace, channel);
      const after: ChannelSettings =
        action.do === "rounds"
          ? { ...before, rounds: within(ROUNDS, before.rounds + action.by) }
          : {
              ...before,
              secondsPerQuestion: within(SECONDS_PER_QUESTION, before.secondsPerQuestion + action.by),
            };
      return {
        workspace: {
          ...workspace,
          settings: withEntry(workspace.settings, channel, after, SETTINGS_MAX),
        },
        outputs: [replace(showSettings(after))],
      };
    }
    case "rematch": {
      const where = { channel: action.channel, host: member, eventId };
      const opened = openGameIn(rules, workspace, where, nowMs);
      if (typeof opened === "string")
        return { workspace, outputs: [replace(showRematchAnswer("game-is-on"))] };
      return {
        workspace: opened.workspace,
        outputs: [...opened.outputs, replace(showRematchAnswer("opened"))],
      };
    }
    case "no-rematch":
      return { workspace, outputs: [replace(showRematchAnswer("declined"))] };
  }
}

function within({ min, max }: { readonly min: number; readonly max: number }, value: number): number {
  return Math.min(max, Math.max(min, value));
}
