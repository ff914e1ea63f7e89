import { numberedChoices, type Message } from "chat-bridge-kit";

/** An action button with its number. Numbers start at 1. */
export interface Choice {
  readonly number: number;
  readonly label: string;
  readonly action: string;
}

/** Maximum number of choices with a keycap. To press any other choice, members type its number. */
export const KEYCAPS_MAX = 9;

const VARIATION = "\u{FE0F}";
const KEYCAP = "\u{20E3}";

/** Returns the action buttons of a message, numbered in order. */
export function choicesOf({ buttons }: Pick<Message, "buttons">): readonly Choice[] {
  return numberedChoices(buttons).flatMap(({ number, label, action }) =>
    number === undefined || action === undefined ? [] : [{ number, label, action }],
  );
}

/** Returns the keycap emoji of a number from 1 to 9. */
export function keycap(number: number): string {
  return `${number}${VARIATION}${KEYCAP}`;
}

/** Returns the number of a keycap emoji; undefined for other text. Some clients leave out the variation selector. */
export function keycapNumber(key: string): number | undefined {
  const found = /^([1-9])\u{FE0F}?\u{20E3}$/u.exec(key);
  return found === null ? undefined : Number(found[1]);
}

/** Returns how many keycaps a message needs. */
export function keycapCount(message: Pick<Message, "buttons">): number {
  return Math.min(KEYCAPS_MAX, choicesOf(message).length);
}
