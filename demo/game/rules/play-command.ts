import { notice, showHelp, showNoGame, showTopicPrompt, showUnknownCommand } from "../view/cards";
import { end } from "./game";
import { readCommand } from "./game-names";
import { tellMember, type CommandInput, type MessageContent, type Turn } from "./input-output";
import { openGameIn, type Rules, type Workspace } from "./workspace";

/**
 * Maximum number of unanswered topic prompts in a workspace. Above this maximum, each new prompt replaces the oldest.
 */
const PROMPTS_MAX = 500;
const PROMPT_SECONDS = 15 * 60;

/**
 * Runs a command, or ignores it if it is for another game. Replies that concern everyone are posted in the channel; all
 * other replies are shown only to the member.
 */
export function playCommand(rules: Rules, workspace: Workspace, input: CommandInput, turn: Turn): void {
  const { channel, member, eventId } = input;
  const tell = (content: MessageContent): void => tellMember(turn, channel, member.id, content);
  const words = readCommand(input.text, rules.names);
  if (words === undefined) return;
  const [verb = ""] = words;

  switch (verb.toLowerCase()) {
    case "":
    case "help":
      turn.outputs.push({ type: "message.create", channel, content: showHelp(rules.names) });
      return;
    case "start": {
      const why = openGameIn(rules, workspace, { channel, host: member, eventId }, turn);
      return why && tell(notice(why));
    }
    case "stop": {
      const game = workspace.games.get(channel);
      if (game === undefined) return tell(showNoGame(rules.names));
      if (game.host.id !== member.id) return tell(notice("only-host"));
      return end(game, "stopped", turn);
    }
    case "suggest":
      return promptForTopic(workspace, input, turn);
    default:
      return tell(showUnknownCommand(verb, rules.names));
  }
}

/** Asks for a topic in a direct message. The message expires when an answer is no longer accepted. */
function promptForTopic({ prompts }: Workspace, input: CommandInput, { nowMs, outputs }: Turn): void {
  const { channel, member, eventId: ref } = input;
  prompts.delete(member.id);
  const [oldest] = prompts.keys();
  if (oldest !== undefined && prompts.size >= PROMPTS_MAX) prompts.delete(oldest);
  prompts.set(member.id, { ref, channel, untilMs: nowMs + PROMPT_SECONDS * 1000 });
  const content = showTopicPrompt();
  outputs.push({ type: "dm.create", user: member.id, ref, content, lifetimeSeconds: PROMPT_SECONDS });
}
