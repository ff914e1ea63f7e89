import type { Command } from "commander";
import { EXIT, EXIT_CODE_WORDS } from "../../cli/exit-code";
import { PROGRAM, runCli } from "../harness/cli";

/** Returns the words of every command and subcommand, e.g. "workspace" and "list". */
function commandsOf(command: Command, before: readonly string[] = []): readonly (readonly string[])[] {
  return command.commands.flatMap((each) => {
    const words = [...before, each.name()];
    return [words, ...commandsOf(each, words)];
  });
}

test.each([[[]], ...commandsOf(PROGRAM).map((words) => [words])])(
  "--help of %j has a description and examples, needs no settings, and never offers --token",
  async (words: readonly string[]) => {
    const { code, stdout, stderr } = await runCli([...words, "--help"], { role: "nobody" });
    expect([code, stderr]).toEqual([EXIT.DONE, ""]);
    expect(stdout).toMatch(new RegExp(`^Usage: ${["chat-bridge", ...words].join(" ")}\\b.*\n\n[A-Za-z]`));
    expect(stdout).toMatch(/^Examples?.*:\n {2}\$ /m);
    expect(stdout).not.toMatch(/--token\b(?!-file)/);
  },
);

test("--help names every exit code", async () => {
  const { stdout } = await runCli("--help");
  for (const [number, words] of Object.entries(EXIT_CODE_WORDS))
    expect(stdout).toContain(`${number}  ${words}`);
});

test("--help lists in one place the role of the token that each command needs", async () => {
  const { stdout } = await runCli("--help");
  expect(stdout.match(/\brole\b/g)).toHaveLength(2);
  const [, roles = ""] = /^Roles of tokens:\n((?: {2}.+\n)+)/m.exec(stdout) ?? [];
  expect(roles.split("\n").map((line) => line.trim().split(/ {3,}/))).toEqual([
    ["publish, tail events", "a token with the role game"],
    ["listen, fake-core, setup, sign, verify", "no token"],
    ["all other commands", "a token with the role operator"],
    [""],
  ]);
});
