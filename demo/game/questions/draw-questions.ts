import { shuffled } from "../rules/chance";
import type { Question } from "../rules/game-state";
import { CHOICES, NUMBERS, type ChoiceEntry, type NumberEntry } from "./bank";

/**
 * Draws the questions of a game: multiple-choice questions, and at the end a
 * number to guess if `count` is 2 or more. The same seed gives the same questions.
 */
export function drawQuestions(
  count: number,
  seed: string,
  pictureUrl: (name: string) => string,
): readonly Question[] {
  const numbers = shuffled(NUMBERS, `${seed}/numbers`).slice(0, count >= 2 ? 1 : 0);
  const choices = shuffled(CHOICES, `${seed}/choices`).slice(0, count - numbers.length);
  return [
    ...choices.map((entry) => asChoice(entry, `${seed}/${entry.options[0]}`, pictureUrl)),
    ...numbers.map(asNumber),
  ];
}

function asChoice(
  { text, options, flag, article }: ChoiceEntry,
  seed: string,
  pictureUrl: (name: string) => string,
): Question {
  const inOrder = shuffled(options, seed);
  return {
    kind: "choice",
    text,
    options: inOrder,
    right: inOrder.indexOf(options[0]),
    picture: flag && pictureUrl(flag),
    more: wikipedia(article),
  };
}

function asNumber({ text, right, unit, article }: NumberEntry): Question {
  return { kind: "number", text, right, unit, more: wikipedia(article) };
}

function wikipedia(article: string): string {
  return `https://en.wikipedia.org/wiki/${article}`;
}
