const { existsSync, readFileSync, rmSync } = require("node:fs");

const COLUMNS = [
  "fault",
  "load",
  "accepted",
  "delivered",
  "published",
  "served",
  "pushed",
  "dropped",
  "again",
  "duplicated",
  "lost",
];

/** A jest reporter. After all tests, it prints a table that counts the outcomes of the events under each fault. */
module.exports = class FaultsTable {
  onRunStart() {
    rmSync(process.env.FAULTS_TABLE, { force: true });
  }

  onRunComplete() {
    const file = process.env.FAULTS_TABLE;
    if (!existsSync(file)) return;
    const rows = readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    rmSync(file);
    const cells = rows.map((row) => COLUMNS.map((column) => String(row[column] ?? "")));
    const widths = COLUMNS.map((column, i) => Math.max(column.length, ...cells.map((row) => row[i].length)));
    const line = (row) =>
      row.map((cell, i) => (i < 2 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join("  ");
    const table = [line(COLUMNS), line(widths.map((width) => "-".repeat(width)))];
    for (const [i, row] of rows.entries()) {
      table.push(row.skipped ? `${row.fault}: SKIPPED, ${row.skipped}` : line(cells[i]).trimEnd());
      for (const note of row.notes ?? []) table.push(`    ${note}`);
    }
    process.stdout.write(
      `\n${table.join("\n")}\n\n` +
        "delivered: accepted events that reached their followers; again: deliveries and pushes repeated under the same id,\n" +
        "as the contract allows; accepted + published = delivered + served + pushed + dropped + lost.\n\n",
    );
  }
};
