import { showGameIsOver, showRematchAnswer } from "../view/cards";
import { readAction } from "./button-action";
import { answer, begin, join } from "./game";
import { tellMember, type ActionInput, type MessageContent, type Turn } from "./input-output";
import { openGameIn, type Rules, type Workspace } from "./workspace";

/** Runs the action of a pressed button. */
export function playPress(rules: Rules, workspace: Workspace, input: ActionInput, turn: Turn): void {
  const { channel, member, messageId, eventId } = input;
  const action = readAction(input.action);
  // The button may come from a different version of this game, with an action that this version does not support.
  if (action === undefined) return;

  /** Replaces the message that contains the button. */
  const replace = (content: MessageContent): void =>
    void turn.outputs.push({ type: "message.update", channel, target: { messageId }, content });

  switch (action.do) {
    case "join":
    case "begin":
    case "answer": {
      const game = workspace.games.get(channel);
      if (game?.id !== action.gameId) {
        return tellMember(turn, channel, member.id, showGameIsOver(rules.names), { messageId });
      }
      if (action.do === "join") return join(game, member, turn);
      if (action.do === "begin") return begin(game, member, turn);
      if (game.questions[action.question]?.kind !== "choice") return;
      return answer(game, member, action.question, action.option, turn);
    }
    case "rematch": {
      const where = { channel: action.channel, host: member, eventId };
      const why = openGameIn(rules, workspace, where, turn);
      return replace(showRematchAnswer(why ?? "opened"));
    }
    case "no-rematch":
      return replace(showRematchAnswer("declined"));
  }
}
