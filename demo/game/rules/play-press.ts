import { notice, showRematchAnswer } from "../view/cards";
import { readAction } from "./button-action";
import { answer, begin, join } from "./game";
import { tellMember, type ActionInput, type MessageContent, type Output } from "./input-output";
import { openGameIn, withGame, type Rules, type Step, type Workspace } from "./workspace";

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
      const game = workspace.games.get(channel);
      if (game?.id !== action.gameId) {
        return { workspace, outputs: [tellMember(channel, member.id, notice("game-is-over"))] };
      }
      if (action.do === "join") return withGame(workspace, join(game, member, nowMs));
      if (action.do === "begin") return withGame(workspace, begin(game, member, nowMs));
      if (game.questions[action.question]?.kind !== "choice") return { workspace, outputs: [] };
      return withGame(workspace, answer(game, member, action.question, action.option, nowMs));
    }
    case "rematch": {
      const opened = openGameIn(rules, workspace, { channel: action.channel, host: member, eventId }, nowMs);
      return typeof opened === "string"
        ? { workspace, outputs: [replace(showRematchAnswer("game-is-on"))] }
        : { ...opened, outputs: [...opened.outputs, replace(showRematchAnswer("opened"))] };
    }
    case "no-rematch":
      return { workspace, outputs: [replace(showRematchAnswer("declined"))] };
  }
}
