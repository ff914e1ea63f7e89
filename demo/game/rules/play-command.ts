import { notice, showHelp, showTopicPrompt, showUnknownCommand } from "../view/cards";
import { end } from "./game";
import { tellMember, type CommandInput, type MessageContent } from "./input-output";
import { openGameIn, withGame, type Rules, type Step, type Workspace } from "./workspace";

/** Most members who have a prompt; the oldest prompts are dropped first. */
const PROMPTS_MAX = 500;
const PROMPT_SECONDS = 15 * 60;

/** Runs a command. Answers that concern everyone are posted; others are ephemeral. */
export function playCommand(rules: Rules, workspace: Workspace, input: CommandInput, nowMs: number): Step {
  const { channel, member, eventId } = input;
  const tell = (content: MessageContent): Step => ({
    workspace,
    outputs: [tellMember(channel, member.id, content)],
  });
  const [verb = ""] = input.text.trim().split(/\s+/);

  switch (verb.toLowerCase()) {
    case "":
    case "help":
      return { workspace, outputs: [{ type: "message.create", channel, content: showHelp() }] };
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
    case "suggest":
      return promptForTopic(workspace, input, nowMs);
    default:
      return tell(showUnknownCommand(verb));
  }
}

/** Asks for a topic in a direct message. The prompt expires when its answer is no longer accepted. */
function promptForTopic(
  workspace: Workspace,
  { channel, member, eventId }: CommandInput,
  nowMs: number,
): Step {
  const prompts = new Map(workspace.prompts);
  prompts.delete(member.id);
  const [oldest] = prompts.keys();
  if (oldest !== undefined && prompts.size >= PROMPTS_MAX) prompts.delete(oldest);
  prompts.set(member.id, { ref: eventId, channel, untilMs: nowMs + PROMPT_SECONDS * 1000 });
  return {
    workspace: { ...workspace, prompts },
    outputs: [
      {
        type: "dm.create",
        user: member.id,
        ref: eventId,
        content: showTopicPrompt(),
        lifetimeSeconds: PROMPT_SECONDS,
      },
    ],
  };
}
