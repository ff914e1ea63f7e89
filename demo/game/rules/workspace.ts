import { openGame } from "./game";
import type { Game, Member, Question } from "./game-state";
import type { GameNames } from "./game-names";
import type { Turn } from "./input-output";

/** Settings and functions that all workspaces share. */
export interface Rules {
  readonly names: GameNames;
  readonly rounds: number;
  readonly secondsPerQuestion: number;
  readonly lobbyMs: number;
  readonly revealMs: number;
  /** Draws `count` questions; the same seed gives the same questions. */
  drawQuestions(count: number, seed: string): readonly Question[];
}

/** A question that is waiting for a typed answer in a direct conversation. */
export interface Prompt {
  /** The `ref` of the message that asks the question (see `Output`). */
  readonly ref: string;
  /** Id of the channel in which the member sent the command `suggest`. */
  readonly channel: string;
  readonly untilMs: number;
}

/** The state of a workspace. The size of each map is limited. */
export interface Workspace {
  /** Live games, by channel. */
  readonly games: Map<string, Game>;
  /** The latest prompt of each member, by member's id. */
  readonly prompts: Map<string, Prompt>;
}

/** Maximum number of live games in a workspace. */
const GAMES_MAX = 100;

export function emptyWorkspace(): Workspace {
  return { games: new Map(), prompts: new Map() };
}

/** Opens a game in a channel, or returns the reason why no game can be opened there. */
export function openGameIn(
  rules: Rules,
  { games }: Workspace,
  { channel, host, eventId }: { readonly channel: string; readonly host: Member; readonly eventId: string },
  turn: Turn,
): "game-is-on" | "too-many-games" | undefined {
  if (games.has(channel)) return "game-is-on";
  if (games.size >= GAMES_MAX) return "too-many-games";
  const { rounds, secondsPerQuestion, revealMs, lobbyMs } = rules;
  const questions = rules.drawQuestions(rounds, eventId);
  const plan = { id: eventId, channel, host, questions, secondsPerQuestion, revealMs };
  games.set(channel, openGame(plan, lobbyMs, turn));
  return undefined;
}
