import { printable } from "./printable";

const GAP = "  ";
/** Characters that take two columns. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u;
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Lines of a table; the texts may be anybody's. A head and no rows is just the head. */
export function tableLines(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  return aligned([head.map((title) => title.toUpperCase()), ...rows]);
}

/** Lines of what is known of one thing; facts without a value are left out. */
export function factLines(facts: readonly (readonly [name: string, value: string])[]): readonly string[] {
  return aligned(facts.filter(([, value]) => value !== ""));
}

function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const cells = rows.map((row) => row.map(printable));
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => columnsOf(row[column] ?? ""))),
  );
  return cells.map((row) =>
    row
      .map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - columnsOf(cell)))
      .join(GAP)
      .trimEnd(),
  );
}

/** How many columns of a terminal a text takes. */
function columnsOf(text: string): number {
  let columns = 0;
  for (const { segment } of graphemes.segment(text)) columns += WIDE.test(segment) ? 2 : 1;
  return columns;
}
