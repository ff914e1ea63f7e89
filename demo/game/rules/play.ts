import { end, tick, nextTickOf } from "./game";
import type { Input } from "./input-output";
import { playCommand } from "./play-command";
import { playMessage } from "./play-message";
import { playPress } from "./play-press";
import { eachGame, type Rules, type Step, type Workspace } from "./workspace";

/**
 * The whole game without its surroundings: returns the next state of a workspace
 * after an input, and the outputs to show. Pure, so an event that is redelivered
 * to a new process has the same outputs if the state is the same.
 */
export function play(rules: Rules, workspace: Workspace, input: Input, nowMs: number): Step {
  switch (input.type) {
    case "command":
      return playCommand(rules, workspace, input, nowMs);
    case "action":
      return playPress(rules, workspace, input, nowMs);
    case "message":
      return playMessage(workspace, input, nowMs);
    case "tick":
      return eachGame(workspace, (game) => tick(game, nowMs));
    case "closing":
      return eachGame(workspace, (game) => end(game, "closing", nowMs));
  }
}

/** Returns the time of the next tick, in ms since the epoch; Infinity while no game is running. */
export function nextTickAt({ games }: Workspace): number {
  return Math.min(Infinity, ...[...games.values()].map(nextTickOf));
}
