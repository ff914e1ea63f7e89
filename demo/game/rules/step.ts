import { showRematchOffer } from "../view/cards";
import { withEntry, withoutEntry } from "./bounded-map";
import type { GameStep } from "./game";
import { standings, type Game } from "./game-state";
import type { Output } from "./output";
import type { Workspace } from "./workspace-state";

/** A workspace after an input, and the outputs to show. */
export interface Step {
  readonly workspace: Workspace;
  readonly outputs: readonly Output[];
}

const SCORES_MAX = 1_000;
/** Most winners, with equal points, who are offered a rematch. */
const OFFERS_MAX = 3;

/** Puts a game back into its workspace after a step; a game that is over is scored and removed. */
export function withGame(workspace: Workspace, { game, outputs }: GameStep): Step {
  const { channel, phase } = game;
  if (phase.name !== "over") {
    return { workspace: { ...workspace, games: new Map(workspace.games).set(channel, game) }, outputs };
  }
  const without = { ...workspace, games: withoutEntry(workspace.games, channel) };
  return {
    workspace: scored(without, game),
    outputs: phase.why === "played" ? [...outputs, ...offersTo(winnersOf(game), channel)] : outputs,
  };
}

/** Applies `act` to every game of a workspace. */
export function eachGame(workspace: Workspace, act: (game: Game) => GameStep): Step {
  return [...workspace.games.values()].reduce<Step>(
    (step, game) => {
      const next = withGame(step.workspace, act(game));
      return { workspace: next.workspace, outputs: [...step.outputs, ...next.outputs] };
    },
    { workspace, outputs: [] },
  );
}

/** Returns the players with the most points, or none if nobody has any. */
function winnersOf(game: Game): Game["players"] {
  const [best] = standings(game);
  return new Map([...game.players].filter(([, { points }]) => points > 0 && points === best?.points));
}

function scored(workspace: Workspace, game: Game): Workspace {
  const winners = game.phase.name === "over" && game.phase.why === "played" ? winnersOf(game) : new Map();
  const scores = [...game.players.values()]
    .filter(({ points }) => points > 0)
    .reduce((all, { id, name, points }) => {
      const before = all.get(id) ?? { points: 0, wins: 0 };
      const score = {
        name,
        points: before.points + points,
        wins: before.wins + (winners.has(id) ? 1 : 0),
      };
      return withEntry(all, id, score, SCORES_MAX);
    }, workspace.scores);
  return { ...workspace, scores };
}

function offersTo(winners: Game["players"], channel: string): readonly Output[] {
  return [...winners.values()].slice(0, OFFERS_MAX).map(({ id: user, points }) => ({
    type: "dm.create",
    user,
    content: showRematchOffer(points, channel),
  }));
}
