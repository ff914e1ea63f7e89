const CELL_MIN = 10;

/** Prints a table's head, and answers how to print its rows, each as soon as it is known. */
export function createTable(
  say: (line: string) => void,
  head: readonly string[],
): (cells: readonly (string | number)[]) => void {
  const widths = head.map((name) => Math.max(CELL_MIN, name.length));
  const line = (cells: readonly (string | number)[]): string =>
    cells.map((cell, i) => String(cell).padStart(widths[i] ?? CELL_MIN)).join("  ");
  say(line(head));
  return (cells) => say(line(cells));
}
