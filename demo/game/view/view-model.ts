import type { Json } from "../../../kit/game/index";
import { standings, type Game, type PhaseOf } from "../rules/game-state";

/** Maximum number of players in a list of the best players. */
export const BOARD_SHOWN = 10;

/**
 * Returns the state of a game as data, for bridges with their own layout. The data contains the right answer only in
 * the phase `reveal`. demo/game/README.md describes the fields.
 */
export function viewModel(game: Game): Record<string, Json> {
  const { id, phase, questions, players } = game;
  return {
    game: id,
    ...whereIn(game),
    questions: questions.length,
    ...("question" in phase ? { answered: phase.answers.length, ...asked(game, phase) } : {}),
    ...(phase.name === "reveal" ? revealed(phase) : {}),
    ...("untilMs" in phase ? { endsAt: new Date(phase.untilMs).toISOString() } : {}),
    players: players.length,
    board: standings(game)
      .slice(0, BOARD_SHOWN)
      .map(({ id: user, name, points }) => ({ user, name, points })),
  };
}

/** Returns the phase of a game, and the number of the current question, from 1. */
export function whereIn({ phase }: Game): Record<string, Json> {
  return { phase: phase.name, ...("index" in phase ? { question: phase.index + 1 } : {}) };
}

/** Returns the options of the current question in the order of the buttons, or the unit of its number. */
function asked(
  { secondsPerQuestion: seconds }: Game,
  { question }: PhaseOf<"question" | "reveal">,
): Record<string, Json> {
  return question.kind === "choice"
    ? { options: [...question.options], seconds }
    : { unit: question.unit, seconds };
}

/** Returns the right answer, and each player's answer with its points. */
function revealed({ question, answers }: PhaseOf<"reveal">): Record<string, Json> {
  return {
    right: question.right,
    results: answers.map(({ user, value, points }) => ({ user, answer: value, points })),
  };
}
