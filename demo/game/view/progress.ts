import type { Game } from "../rules/game-state";

/** Returns the name of a question, such as "Question 3 of 5". */
export function progress({ questions }: Game, index: number): string {
  return `Question ${index + 1} of ${questions.length}`;
}

/** Returns a sentence that tells a member what happens in a game now, and what the member can do. */
export function showNow(game: Game, user: string, nowMs: number): string {
  const { phase } = game;
  switch (phase.name) {
    case "lobby": {
      const start = `The game starts in ${secondsLeft(phase.untilMs, nowMs)} seconds or sooner`;
      const isPlayer = game.players.some(({ id }) => id === user);
      return isPlayer ? `${start}, and you are in.` : `${start}. To play, join it, or answer a question.`;
    }
    case "question": {
      const hasAnswered = phase.answers.some((answer) => answer.user === user);
      if (hasAnswered) return `${progress(game, phase.index)} is open, and you have answered it.`;
      const what = phase.question.kind === "choice" ? "answer now" : "type a number now";
      return `${progress(game, phase.index)} is open: ${what}. Seconds left: ${secondsLeft(phase.untilMs, nowMs)}.`;
    }
    case "reveal":
      return phase.index + 1 < game.questions.length
        ? "The next question comes in a moment."
        : "The final board comes in a moment.";
    case "over":
      return "The game is over.";
  }
}

/** Returns the whole seconds until `untilMs`, at least 1. */
export function secondsLeft(untilMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((untilMs - nowMs) / 1000));
}
