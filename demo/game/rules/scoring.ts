import type { Answer, Question } from "./game-state";

const RIGHT_POINTS = 100;
const SPEED_POINTS = 50;
const CLOSEST_POINTS = 150;
const EXACT_POINTS = 50;

/** Returns the points that members win with their answers, by member's id, earliest answer first. */
export function gainsOf(
  question: Question,
  answers: ReadonlyMap<string, Answer>,
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
): ReadonlyMap<string, number> {
  if (question.kind === "choice") {
    const gainAt = (atMs: number): number => {
      const left = Math.min(1, Math.max(0, (untilMs - atMs) / (untilMs - fromMs)));
      return RIGHT_POINTS + Math.round(SPEED_POINTS * left);
    };
    const right = [...answers].filter(([, { value }]) => value === question.right);
    return new Map(right.map(([member, { atMs }]) => [member, gainAt(atMs)]));
  }
  const off = (value: number): number => Math.abs(value - question.right);
  const least = Math.min(...[...answers.values()].map(({ value }) => off(value)));
  const closest = [...answers].filter(([, { value }]) => off(value) === least);
  const gain = CLOSEST_POINTS + (least === 0 ? EXACT_POINTS : 0);
  return new Map(closest.map(([member]) => [member, gain]));
}
