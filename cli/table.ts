import { printable } from "./printable";

const GAP = "  ";
/** Characters that are two terminal columns wide. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u;
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Returns the lines of a table. The first line is the header. Cells can contain untrusted text. */
export function tableLines(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  return aligned([head.map((title) => title.toUpperCase()), ...rows]);
}

/** Returns one line for each fact, with the fact's name and value. Facts with an empty value are omitted. */
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

/** Returns the width of text in terminal columns. */
function columnsOf(text: string): number {
  let columns = 0;
  for (const { segment } of graphemes.segment(text)) columns += WIDE.test(segment) ? 2 : 1;
  return columns;
}
