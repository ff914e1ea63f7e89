import { createHash } from "node:crypto";
import type { Question } from "../rules/game-state";
import bank from "./bank.json";

/**
 * Draws the questions of a game: multiple-choice questions and, if `count` is 2 or
 * more, a last question whose answer is a number. The same seed gives the same questions.
 *
 * In `bank.json`, the first option of each multiple-choice question is the right answer,
 * and `picture` is the name of a file in `pictures/`, without the extension. The name must not give away the answer,
 * because a chat without images shows the URL.
 */
export function drawQuestions(
  count: number,
  seed: string,
  pictureUrl: (name: string) => string,
): readonly Question[] {
  const last = shuffled(bank.numbers, `${seed}/numbers`).slice(0, count >= 2 ? 1 : 0);
  const first = shuffled(bank.choices, `${seed}/choices`).slice(0, count - last.length);
  return [
    ...first.map(({ text, options: [right = "", ...wrong], picture, more }): Question => {
      const options = shuffled([right, ...wrong], `${seed}/${right}`);
      return {
        kind: "choice",
        text,
        options,
        right: options.indexOf(right),
        picture: picture && pictureUrl(picture),
        more,
      };
    }),
    ...last.map((entry): Question => ({ kind: "number", ...entry })),
  ];
}

/** Returns the items in a shuffled order that depends only on the seed and the number of items. */
function shuffled<T>(list: readonly T[], seed: string): readonly T[] {
  return list
    .map((item, i) => ({ item, rank: createHash("sha256").update(`${seed}/${i}`).digest("hex") }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ item }) => item);
}
