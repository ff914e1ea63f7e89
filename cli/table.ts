import { painted, plain, spansOf, type Line, type Span } from "./colour";
import { printable } from "./printable";

const GAP = "  ";
/** Matches characters that are two terminal columns wide. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u;
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Returns the lines of a table. The first line is the header. Cells can contain untrusted text. */
export function tableLines(head: readonly string[], rows: readonly (readonly Line[])[]): readonly Line[] {
  return aligned([head.map((title) => title.toUpperCase()), ...rows]);
}

/** Returns one line for each fact: the name of the fact and its value. Facts with an empty value are omitted. */
export function factLines(facts: readonly (readonly [name: string, value: Line])[]): readonly Line[] {
  return aligned(facts.filter(([, value]) => plain(value) !== ""));
}

function aligned(rows: readonly (readonly Line[])[]): readonly Line[] {
  const cells = rows.map((row) => row.map(inOneLine));
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => columnsOf(plain(row[column] ?? "")))),
  );
  return cells.map((row) => {
    const last = row.findLastIndex((cell) => plain(cell) !== "");
    const spans = row.slice(0, last + 1).flatMap((cell, column) => {
      const padding = " ".repeat((widths[column] ?? 0) - columnsOf(plain(cell)));
      return [...cell, column === last ? "" : padding + GAP];
    });
    return spans.every((span) => typeof span === "string") ? spans.join("").trimEnd() : spans;
  });
}

/** Returns a cell without line breaks and other characters that would break the table. */
function inOneLine(cell: Line): readonly Span[] {
  return spansOf(cell).map((span) =>
    typeof span === "string" ? printable(span) : painted(span.look, printable(span.text)),
  );
}

/** Returns the width of text in terminal columns. */
function columnsOf(text: string): number {
  let columns = 0;
  for (const { segment } of graphemes.segment(text)) columns += WIDE.test(segment) ? 2 : 1;
  return columns;
}
