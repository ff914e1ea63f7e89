import { showRematchOffer } from "../view/cards";
import { openGame, type GameStep } from "./game";
import { standings, type Game, type Member, type Question } from "./game-state";
import type { Output } from "./input-output";

/** Settings and functions that all workspaces share. */
export interface Rules {
  readonly rounds: number;
  readonly secondsPerQuestion: number;
  readonly lobbyMs: number;
  readonly revealMs: number;
  /** Draws `count` questions; the same seed gives the same questions. */
  drawQuestions(count: number, seed: string): readonly Question[];
}

/** A question that waits for a typed answer in a direct conversation. */
export interface Prompt {
  /** The ref of the message that asks. */
  readonly ref: string;
  /** The channel of the command that caused it. */
  readonly channel: string;
  readonly untilMs: number;
}

/** The state of a workspace. Each map is bounded. */
export interface Workspace {
  /** Live games, by channel. */
  readonly games: ReadonlyMap<string, Game>;
  /** The latest prompt of each member, by member's id. */
  readonly prompts: ReadonlyMap<string, Prompt>;
}

export const EMPTY_WORKSPACE: Workspace = { games: new Map(), prompts: new Map() };

/** A workspace after an input, and the outputs to show. */
export interface Step {
  readonly workspace: Workspace;
  readonly outputs: readonly Output[];
}

/** Most live games of one workspace. */
const GAMES_MAX = 100;
/** Most winners, with equal points, who are offered a rematch. */
const OFFERS_MAX = 3;

/** Opens a game in a channel, or returns the reason why it cannot. */
export function openGameIn(
  rules: Rules,
  workspace: Workspace,
  { channel, host, eventId }: { readonly channel: string; readonly host: Member; readonly eventId: string },
  nowMs: number,
): Step | "game-is-on" | "too-many-games" {
  if (workspace.games.has(channel)) return "game-is-on";
  if (workspace.games.size >= GAMES_MAX) return "too-many-games";
  const { rounds, secondsPerQuestion, revealMs, lobbyMs } = rules;
  const questions = rules.drawQuestions(rounds, eventId);
  const plan = { id: eventId, channel, host, questions, secondsPerQuestion, revealMs };
  return withGame(workspace, openGame(plan, lobbyMs, nowMs));
}

/** Puts a game back into its workspace after a step. A game that is over is removed, and its winners get an offer. */
export function withGame(workspace: Workspace, { game, outputs }: GameStep): Step {
  const { channel, phase } = game;
  const games = new Map(workspace.games);
  if (phase.name !== "over") return { workspace: { ...workspace, games: games.set(channel, game) }, outputs };
  games.delete(channel);
  return {
    workspace: { ...workspace, games },
    outputs: phase.why === "played" ? [...outputs, ...offersToWinners(game)] : outputs,
  };
}

/** Applies `act` to every game of a workspace. */
export function eachGame(workspace: Workspace, act: (game: Game) => GameStep): Step {
  let step: Step = { workspace, outputs: [] };
  for (const game of workspace.games.values()) {
    const { workspace: next, outputs } = withGame(step.workspace, act(game));
    step = { workspace: next, outputs: [...step.outputs, ...outputs] };
  }
  return step;
}

function offersToWinners(game: Game): readonly Output[] {
  const players = standings(game);
  const winners = players.filter(({ points }) => points > 0 && points === players[0]?.points);
  return winners.slice(0, OFFERS_MAX).map(({ id: user, points }) => ({
    type: "dm.create",
    user,
    content: showRematchOffer(points, game.channel),
  }));
}
