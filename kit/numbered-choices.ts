import type { Button } from "./events";

/** A button of a message, in the form that a chat without buttons can show. */
export type Choice =
  | {
      readonly label: string;
      /** The number, counted from 1, that a member types to press the button. */
      readonly number: number;
      readonly action: string;
      readonly url?: undefined;
    }
  | {
      readonly label: string;
      readonly url: string;
      readonly number?: undefined;
      readonly action?: undefined;
    };

/**
 * Returns the buttons of a message in reading order, e.g. `numberedChoices(message.buttons)`. Only buttons with an
 * `action` have a number.
 */
export function numberedChoices(rows: readonly (readonly Button[])[]): readonly Choice[] {
  let count = 0;
  return rows.flat().map((button) => {
    const label = button.label.replaceAll(/\s+/g, " ").trim();
    return "action" in button
      ? { label, number: ++count, action: button.action }
      : { label, url: button.url };
  });
}

/**
 * Returns a line of plain text for each button: "1. Join" for an action, and "Read more: https://…" for a link. With a
 * `prefix`, e.g. "!", a last line says how members answer: "(answer with !1 to !4)". If the message also awaits a
 * reply, this line is "(press with !1 to !4, or type your answer)".
 */
export function choiceLines(
  rows: readonly (readonly Button[])[],
  prefix?: string,
  awaitsReply = false,
): readonly string[] {
  const choices = numberedChoices(rows);
  const lines = choices.map((choice) =>
    choice.number === undefined ? `${choice.label}: ${choice.url}` : `${choice.number}. ${choice.label}`,
  );
  const count = choices.filter(({ number }) => number !== undefined).length;
  return prefix === undefined || count === 0
    ? lines
    : [...lines, `(${howToAnswer(count, prefix, awaitsReply)})`];
}

/**
 * Returns the instruction for `count` choices, e.g. "answer with !1 to !4". If the message also awaits a reply,
 * pressing a button is not the answer, so the instruction is "press with !1 to !4, or type your answer".
 */
export function howToAnswer(count: number, prefix: string, awaitsReply = false): string {
  const last = `${prefix}${count}`;
  const numbers = count === 1 ? last : `${prefix}1 ${count === 2 ? "or" : "to"} ${last}`;
  return awaitsReply ? `press with ${numbers}, or type your answer` : `answer with ${numbers}`;
}
