import { end, tick, nextTickOf } from "./game";
import type { Input } from "./input";
import { playCommand } from "./play-command";
import { playMessage } from "./play-message";
import { playPress } from "./play-press";
import { eachGame, type Step } from "./step";
import type { Rules, Workspace } from "./workspace-state";

/**
 * The whole game service but for the world around it: what a workspace becomes
 * by an input, and what is to be shown. Pure: the same arguments, the same
 * answer, so an event that comes again to a new process has the same outputs.
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

/** When a tick has something to do; Infinity while no game is on. */
export function nextTickAt({ games }: Workspace): number {
  return Math.min(Infinity, ...[...games.values()].map(nextTickOf));
}
