import { howToAnswer, numberedChoices, type Button, type Choice } from "chat-bridge-kit";
import { withoutControls } from "./styled-lines";

type Rows = readonly (readonly Button[])[];
/** A button that members press by typing its number. */
type ActionChoice = Extract<Choice, { action: string }>;

/** Returns the buttons with actions, in the order of their numbers. */
export function choicesOf(rows: Rows): readonly ActionChoice[] {
  return numberedChoices(rows).filter((choice) => choice.action !== undefined);
}

/** Returns a line with the numbered choices and with an instruction for answers; undefined if there are no choices. */
export function choicesLine(rows: Rows, prefix: string, awaitsReply = false): string | undefined {
  const choices = choicesOf(rows);
  if (choices.length === 0) return undefined;
  const labels = choices.map(({ number, label }) => `${number} ${withoutControls(label)}`);
  return `${labels.join("  ")}  (${howToAnswer(choices.length, prefix, awaitsReply)})`;
}

/** Returns a line for each button that opens a URL. */
export function linkLines(rows: Rows): readonly string[] {
  return numberedChoices(rows)
    .filter((choice) => choice.url !== undefined)
    .map(({ label, url }) => `${withoutControls(label)}: ${withoutControls(url)}`);
}
