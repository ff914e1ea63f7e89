import type { CheckResult, RuleResult } from "./result";
import type { CheckProgress } from "./rule";

const WIDTH = 100;
const INDENT = 31;

const LABELS: Readonly<Record<RuleResult["verdict"], string>> = {
  passed: "ok",
  failed: "FAILED",
  unseen: "unseen",
  skipped: "skipped",
};

/** A line a rule, and under it what is wrong with it. */
export function lineOf(result: RuleResult): string {
  const head = `  ${LABELS[result.verdict].padEnd(8)} ${result.id.padEnd(INDENT - 12)} `;
  return (
    head +
    wordsOf(result)
      .map(wrapped)
      .join(`\n${" ".repeat(INDENT)}`)
  );
}

function wordsOf(result: RuleResult): readonly string[] {
  const { says } = result;
  switch (result.verdict) {
    case "passed":
      return [result.note === undefined ? says : `${says} (${result.note})`];
    case "failed":
      return [says, `found: ${result.found}`, `mend:  ${result.mend}`];
    case "unseen":
      return [says, `not seen: ${result.why}`];
    case "skipped":
      return [result.why];
  }
}

/** What stands under the table. */
export function summaryOf({ rules, blind, ok, mode }: CheckResult): string {
  const count = (wanted: RuleResult["verdict"]) => rules.filter(({ verdict }) => verdict === wanted).length;
  const counts = [
    `${count("passed")} passed`,
    `${count("failed")} failed`,
    `${count("unseen")} not seen as a whole`,
    `${count("skipped")} skipped`,
  ];
  return [
    "",
    "No check from outside sees",
    ...blind.map((what) => `  - ${what}`),
    "",
    `${counts.join(", ")}: ${ok ? `this ${mode} keeps all that was seen of the contract` : `this ${mode} breaks the contract`}`,
    "",
  ].join("\n");
}

interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** Prints each rule as it is judged, and beside it what is under way: on a terminal in one line that changes. */
export function createPrinter(output: Output, beside: Output): CheckProgress {
  const isTerminal = beside.isTTY === true;
  const say = (text: string) => void (isTerminal && beside.write(`\r\u001b[K${text}`));
  return {
    begun: (id) => say(`  …        ${id}`),
    waiting(what) {
      if (isTerminal) say(`  …        ${what}`);
      else beside.write(`  …        ${what}\n`);
    },
    judged(result) {
      say("");
      output.write(`${lineOf(result)}\n`);
    },
  };
}

/** Breaks text at spaces; lines after the first are indented. */
function wrapped(text: string): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + word.length >= WIDTH - INDENT) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].join(`\n${" ".repeat(INDENT)}`);
}
