import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { EXIT_CODE_WORDS } from "../../cli/exit-code";
import { createProgram } from "../../cli/program";
import { createTerminal } from "../../cli/terminal";

const PAGE = readFileSync(join(__dirname, "../../docs/cli.md"), "utf8");
const program = createProgram(
  { terminal: createTerminal(process), environment: {}, interruption: () => new AbortController().signal },
  () => undefined,
);

function leaves(command: Command): readonly Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
}

test.each(Object.entries(EXIT_CODE_WORDS))(
  "the page has the exit code %s in the same words",
  (code, words) => {
    const row = PAGE.split("\n").find((line) => line.startsWith(`| ${code} `));
    expect(row?.split("|")[2]?.trim()).toBe(words);
  },
);

test.each(leaves(program).map((command) => [command.name()]))("the page has the command %s", (name) => {
  expect(PAGE).toMatch(new RegExp(`^\\|.*\\b${name}\\b.*\\| (operator|game|none) `, "m"));
});

test.each(
  program
    .createHelp()
    .visibleOptions(program)
    .map(({ long = "" }) => [long])
    .filter(([long]) => long !== "--help"),
)("the page has the option %s", (long) => {
  expect(PAGE).toContain(`\`${long}`);
});
