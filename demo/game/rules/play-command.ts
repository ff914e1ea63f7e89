import { showHelp, showLeaderboard, showSettings, showTopicPrompt, showUnknownCommand } from "../view/cards";
import { notice } from "../view/notices";
import { withEntry } from "./bounded-map";
import { end } from "./game";
import type { CommandInput } from "./input";
import { openGameIn, settingsOf } from "./open-game-in";
import { tellMember, type MessageContent, type Output } from "./output";
import { withGame, type Step } from "./step";
import type { Rules, Workspace } from "./workspace-state";

const PROMPTS_MAX = 500;
const PROMPT_MS = 15 * 60_000;

/** Runs a command. Answers that concern everyone are posted; others are ephemeral. */
export function playCommand(rules: Rules, workspace: Workspace, input: CommandInput, nowMs: number): Step {
  const { channel, member, eventId } = input;
  const [verb = ""] = input.text.trim().split(/\s+/);

  const only = (output: Output): Step => ({ workspace, outputs: [output] });
  const post = (content: MessageContent): Step => only({ type: "message.create", channel, content });
  const tell = (content: MessageContent): Step => only(tellMember(channel, member.id, content));

  switch (verb.toLowerCase()) {
    case "":
    case "help":
      return post(showHelp());
    case "start": {
      const opened = openGameIn(rules, workspace, { channel, host: member, eventId }, nowMs);
      return typeof opened === "string" ? tell(notice(opened)) : opened;
    }
    case "stop": {
      const game = workspace.games.get(channel);
      if (game === undefined) return tell(notice("no-game"));
      if (game.host.id !== member.id) return tell(notice("only-host"));
      return withGame(workspace, end(game, "stopped", nowMs));
    }
    case "leaderboard":
      return post(showLeaderboard([...workspace.scores.values()]));
    case "settings":
      return post(showSettings(settingsOf(rules, workspace, channel)));
    case "suggest": {
      const prompt = { ref: eventId, channel, untilMs: nowMs + PROMPT_MS };
      return {
        workspace: {
          ...workspace,
          prompts: withEntry(workspace.prompts, member.id, prompt, PROMPTS_MAX),
        },
        outputs: [
          {
            type: "dm.create",
            user: member.id,
            ref: eventId,
            content: showTopicPrompt(),
            // The prompt expires when its answer is no longer accepted.
            lifetimeMs: PROMPT_MS,
          },
        ],
      };
    }
    default:
      return tell(showUnknownCommand(verb));
  }
}
