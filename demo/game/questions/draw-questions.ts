import { createHash } from "node:crypto";
import type { Question } from "../rules/game-state";
import bank from "./bank.json";

/** A multiple-choice question. The first option is the right one; the options are shuffled for each game. */
interface ChoiceEntry {
  readonly text: string;
  readonly options: readonly string[];
  /** Name of a file in `pictures/`, without its ending. */
  readonly picture?: string;
  /** Title of the article in the English Wikipedia with more about it. */
  readonly article: string;
}

/** A question whose answer is a number; the closest guess wins. */
interface NumberEntry {
  readonly text: string;
  readonly right: number;
  readonly unit: string;
  readonly article: string;
}

const { choices, numbers }: { choices: readonly ChoiceEntry[]; numbers: readonly NumberEntry[] } = bank;

/**
 * Draws the questions of a game: multiple-choice questions, and at the end a
 * number to guess if `count` is 2 or more. The same seed gives the same questions.
 */
export function drawQuestions(
  count: number,
  seed: string,
  pictureUrl: (name: string) => string,
): readonly Question[] {
  const last = shuffled(numbers, `${seed}/numbers`).slice(0, count >= 2 ? 1 : 0);
  const first = shuffled(choices, `${seed}/choices`).slice(0, count - last.length);
  return [
    ...first.map(({ text, options, picture, article }): Question => {
      const [right = ""] = options;
      const inOrder = shuffled(options, `${seed}/${right}`);
      return {
        kind: "choice",
        text,
        options: inOrder,
        right: inOrder.indexOf(right),
        picture: picture && pictureUrl(picture),
        more: wikipedia(article),
      };
    }),
    ...last.map(({ text, right, unit, article }): Question => ({
      kind: "number",
      text,
      right,
      unit,
      more: wikipedia(article),
    })),
  ];
}

/** Shuffles a list in an order that depends only on the seed. */
function shuffled<T>(list: readonly T[], seed: string): readonly T[] {
  return list
    .map((item, i) => ({ item, rank: createHash("sha256").update(`${seed}/${i}`).digest("hex") }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ item }) => item);
}

function wikipedia(article: string): string {
  return `https://en.wikipedia.org/wiki/${article}`;
}
