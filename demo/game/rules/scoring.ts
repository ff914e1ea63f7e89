import type { Answer, PhaseOf } from "./game-state";

const RIGHT_POINTS = 100;
const SPEED_POINTS = 50;
const CLOSEST_POINTS = 150;
const EXACT_POINTS = 50;

/** Returns the answers to a question with the points that they win. */
export function score({ question, answers, fromMs, untilMs }: PhaseOf<"question">): readonly Answer[] {
  if (question.kind === "choice") {
    return answers.map((answer) => {
      const left = Math.min(1, Math.max(0, (untilMs - answer.atMs) / (untilMs - fromMs)));
      const isRight = answer.value === question.right;
      return { ...answer, points: isRight ? RIGHT_POINTS + Math.round(SPEED_POINTS * left) : 0 };
    });
  }
  const off = ({ value }: Answer): number => Math.abs(value - question.right);
  const least = Math.min(...answers.map(off));
  const gain = CLOSEST_POINTS + (least === 0 ? EXACT_POINTS : 0);
  return answers.map((answer) => ({ ...answer, points: off(answer) === least ? gain : 0 }));
}
