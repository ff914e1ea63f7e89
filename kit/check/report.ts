import { coloured, type Look } from "../terminal-colour";
import type { CheckResult, RuleResult } from "./result";
import type { CheckProgress } from "./rule";

const WIDTH = 100;
const INDENT = 31;

const LABELS: Readonly<Record<RuleResult["verdict"], string>> = {
  passed: "ok",
  failed: "FAILED",
  "not reached": "not reached",
  "partly checked": "partly",
  skipped: "skipped",
};

const LOOKS: Readonly<Record<RuleResult["verdict"], Look>> = {
  passed: "good",
  failed: "bad",
  "not reached": "bad",
  "partly checked": "warning",
  skipped: "dim",
};

/** Returns the report's lines about the result of a rule. */
export function lineOf(result: RuleResult, hasColour = false): string {
  return line(result.verdict, result.id, wordsOf(result), hasColour);
}

function line(
  verdict: RuleResult["verdict"],
  what: string,
  words: readonly string[],
  hasColour: boolean,
): string {
  const label = LABELS[verdict];
  const rest = `${"".padEnd(8 - label.length)} ${what}`.padEnd(INDENT - 3 - label.length);
  const shown = hasColour ? coloured(LOOKS[verdict], label) : label;
  return `  ${shown}${rest} ${words.map(wrapped).join(`\n${" ".repeat(INDENT)}`)}`;
}

/** Returns one line for each reason to skip rules, with the rules that were skipped for that reason. */
function skippedLines(rules: readonly RuleResult[], hasColour: boolean): readonly string[] {
  const skipped = rules.filter((rule) => rule.verdict === "skipped");
  return [...new Set(skipped.map(({ why }) => why))].map((reason) => {
    const ids = skipped.filter(({ why }) => why === reason).map(({ id }) => id);
    return line(
      "skipped",
      `${ids.length} ${ids.length === 1 ? "rule" : "rules"}`,
      [reason, ids.join(", ")],
      hasColour,
    );
  });
}

function wordsOf(result: RuleResult): readonly string[] {
  const { says } = result;
  switch (result.verdict) {
    case "passed":
      return [result.note === undefined ? says : `${says} (${result.note})`];
    case "failed":
    case "not reached":
      return [
        says,
        `found: ${result.found}`,
        ...(result.cause === undefined ? [] : [`cause: ${result.cause}`]),
        `fix:   ${result.fix}`,
      ];
    case "partly checked":
      return [says, `not checked: ${result.why}`];
    case "skipped":
      return [result.why];
  }
}

/**
 * Returns the end of the report: the skipped rules, the requirements that cannot be checked, the broken rules again, and
 * the counts with the verdict in the last line.
 */
export function summaryOf({ rules, blind, mode, ok }: CheckResult, hasColour = false): string {
  const what = mode === "service" ? "service" : "bridge";
  const count = (wanted: RuleResult["verdict"]) => rules.filter(({ verdict }) => verdict === wanted).length;
  const counts = [
    `${count("passed")} passed`,
    `${count("failed")} failed`,
    `${count("partly checked")} partly checked`,
    `${count("skipped")} skipped`,
  ];
  const broken = rules.filter(({ verdict }) => verdict === "failed").map((rule) => lineOf(rule, hasColour));
  const isReached = count("not reached") === 0;
  const conclusion =
    count("failed") > 0
      ? `this ${what} breaks the contract`
      : isReached
        ? `this ${what} follows the contract, as far as it was checked`
        : `there was no connection, so there is no verdict on this ${what}`;
  return [
    ...skippedLines(rules, hasColour),
    ...(isReached
      ? ["", "Not checked, because it cannot be seen from outside:", ...blind.map((what) => `  - ${what}`)]
      : []),
    ...(broken.length === 0 ? [] : ["", `The rules that this ${what} breaks:`, ...broken]),
    "",
    `${counts.join(", ")}: ${hasColour ? coloured(ok ? "good" : "bad", conclusion) : conclusion}`,
    "",
  ].join("\n");
}

interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/**
 * Prints the result of each rule to `output`, unless the rule was skipped. Prints the progress to `beside`: a terminal
 * gets one line that is overwritten, and any other output gets one line for each long wait.
 */
export function createPrinter(output: Output, beside: Output, hasColour = false): CheckProgress {
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
      if (result.verdict === "skipped") return;
      output.write(`${lineOf(result, hasColour)}\n`);
    },
  };
}

/** Breaks text into lines at spaces, and indents all lines except the first. */
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
