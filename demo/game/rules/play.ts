import { showRematchOffer } from "../view/cards";
import { end, tick, nextTickOf } from "./game";
import { standings, type Game } from "./game-state";
import type { Input, Output, Turn } from "./input-output";
import { playCommand } from "./play-command";
import { playMessage } from "./play-message";
import { playPress } from "./play-press";
import type { Rules, Workspace } from "./workspace";

/** Maximum number of tied winners who are offered a rematch. */
const OFFERS_MAX = 3;

/**
 * Applies an input to the state of a workspace, and returns the outputs. Both the
 * new state and the outputs depend only on the arguments. So an event that is
 * redelivered to a new process gives the same outputs if the state is the same.
 */
export function play(rules: Rules, workspace: Workspace, input: Input, nowMs: number): readonly Output[] {
  const turn: Turn = { nowMs, outputs: [] };
  const games = [...workspace.games.values()];
  switch (input.type) {
    case "command":
      playCommand(rules, workspace, input, turn);
      break;
    case "action":
      playPress(rules, workspace, input, turn);
      break;
    case "message":
      playMessage(workspace, input, turn);
      break;
    case "tick":
      for (const game of games) tick(game, turn);
      break;
    case "closing":
      for (const game of games) end(game, "closing", turn);
      break;
  }
  for (const game of games) {
    if (game.phase.name !== "over") continue;
    workspace.games.delete(game.channel);
    if (game.phase.why === "played") offerRematch(game, turn);
  }
  return turn.outputs;
}

function offerRematch(game: Game, { outputs }: Turn): void {
  const players = standings(game);
  const winners = players.filter(({ points }) => points > 0 && points === players[0]?.points);
  for (const { id: user, points } of winners.slice(0, OFFERS_MAX)) {
    outputs.push({ type: "dm.create", user, content: showRematchOffer(points, game.channel) });
  }
}

/** Returns the time of the next tick, in ms since the epoch; Infinity while no game is running. */
export function nextTickAt({ games }: Workspace): number {
  return Math.min(Infinity, ...[...games.values()].map(nextTickOf));
}
