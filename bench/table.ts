import type { Spread } from "./statistics";

const CELL_MIN = 10;

/** Prints a table's head, and returns a function that prints a row. */
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

/**
 * Prints the head of a table of latencies in ms, and returns a function that prints a row. `what` names the row, e.g.
 * "push".
 */
export function createSpreadTable(
  say: (line: string) => void,
): (round: number, what: string, spread: Spread) => void {
  const row = createTable(say, ["round", "what", "count", "p50 ms", "p99 ms", "max ms"]);
  return (round, what, spread) => row([round, what, spread.count, ...spreadCells(spread)]);
}

/** Returns the median, the p99 and the maximum in ms. */
export function spreadCells({ p50, p99, max }: Spread): readonly string[] {
  return [p50, p99, max].map((ms) => ms.toFixed(2));
}
