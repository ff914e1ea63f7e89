/** Sizes up to which every common chat shows a message well. Core accepts larger messages, and bridges shorten them. */

/**
 * Characters of a text. Discord shows 2,000 (developer documentation, "Create Message", `content`). A Slack section
 * block shows 3,000 (Block Kit reference, "Section block"), and Telegram shows 4,096 (Bot API, `sendMessage`). IRC
 * shows about 400 bytes on a line (RFC 1459, section 2.3: 512 bytes with the prefix), so bridges split the text there.
 */
export const TEXT_CHARACTERS = 2_000;

/**
 * Characters of a button's label. Slack allows 75 (Block Kit reference, "Button element", `text`), and may show fewer,
 * depending on the width. Discord shows 80 (developer documentation, "Button", `label`).
 */
export const LABEL_CHARACTERS = 75;

/** Buttons in a row: the limit of Discord (developer documentation, "Action Row"). */
export const ROW_BUTTONS = 5;

/** Rows of buttons in a message: the limit of Discord (developer documentation, "Action Row"). */
export const BUTTON_ROWS = 5;

/** A part of a message that some chats do not show well. */
export interface SizeProblem {
  readonly code: "long-text" | "long-label" | "wide-row" | "many-rows" | "data-without-text";
  readonly detail: string;
}

interface SizedMessage {
  readonly text: string;
  readonly buttons: readonly (readonly { readonly label: string }[])[];
  readonly data?: object | null | undefined;
}

/** Returns the parts of a message that some chats do not show well. */
export function findSizeProblems({ text, buttons, data }: SizedMessage): readonly SizeProblem[] {
  const problems: SizeProblem[] = [];
  const characters = lengthOf(text, TEXT_CHARACTERS);
  if (characters > TEXT_CHARACTERS)
    problems.push({ code: "long-text", detail: `a text has ${characters} characters` });
  for (const { label } of buttons.flat()) {
    const length = lengthOf(label, LABEL_CHARACTERS);
    if (length <= LABEL_CHARACTERS) continue;
    problems.push({
      code: "long-label",
      detail: `the label "${label.slice(0, 20)}…" has ${length} characters`,
    });
  }
  const widest = Math.max(0, ...buttons.map((row) => row.length));
  if (widest > ROW_BUTTONS) problems.push({ code: "wide-row", detail: `a row has ${widest} buttons` });
  if (buttons.length > BUTTON_ROWS) {
    problems.push({ code: "many-rows", detail: `a message has ${buttons.length} rows of buttons` });
  }
  if (data && text.trim() === "")
    problems.push({ code: "data-without-text", detail: "a message has data, but no text" });
  return problems;
}

/**
 * Returns the number of characters. A character is one or two UTF-16 units, so for a text of at most `most` units,
 * `text.length` is enough.
 */
function lengthOf(text: string, most: number): number {
  return text.length <= most ? text.length : [...text].length;
}
