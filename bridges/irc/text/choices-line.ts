import type { Button } from "chat-bridge-kit";
import { withoutControls } from "./styled-lines";

/** A button that members press by typing its number. */
export interface Choice {
  readonly number: number;
  readonly label: string;
  readonly action: string;
}

type Rows = readonly (readonly Button[])[];

/** Returns the buttons with actions, numbered from 1 in reading order. */
export function choicesOf(rows: Rows): readonly Choice[] {
  return rows
    .flat()
    .filter((button) => "action" in button)
    .map(({ label, action }, index) => ({ number: index + 1, label, action }));
}

/** Returns the line with the numbered choices, and how to answer; undefined if there are no choices. */
export function choicesLine(rows: Rows, prefix: string): string | undefined {
  const choices = choicesOf(rows);
  if (choices.length === 0) return undefined;
  const labels = choices.map(({ number, label }) => `${number} ${oneLine(label)}`);
  return `${labels.join("  ")}  (${howToAnswer(choices.length, prefix)})`;
}

/** Returns how members choose one of `count` choices, e.g. "answer with !1 to !4". */
export function howToAnswer(count: number, prefix: string): string {
  const last = `${prefix}${count}`;
  if (count === 1) return `answer with ${last}`;
  return `answer with ${prefix}1 ${count === 2 ? "or" : "to"} ${last}`;
}

/** Returns a line for each button that opens a URL. */
export function linkLines(rows: Rows): readonly string[] {
  return rows
    .flat()
    .filter((button) => "url" in button)
    .map(({ label, url }) => `${oneLine(label)}: ${oneLine(url)}`);
}

function oneLine(text: string): string {
  return withoutControls(text).replaceAll(/\s+/g, " ").trim();
}
