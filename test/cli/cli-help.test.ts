import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import type { Command } from "commander";
import { COMPLETE } from "../../cli/completion";
import { EXIT, EXIT_CODE_WORDS } from "../../cli/exit-code";
import { CLI_MAIN, PROGRAM, runCli } from "../harness/cli";
import { testFolder } from "../harness/folder";

const folder = testFolder();

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
    expect((await runCli([COMPLETE, "bash", ...words, "--"])).stdout).not.toMatch(/--token\b(?!-file)/);
  },
);

test("--help names every exit code", async () => {
  const { stdout } = await runCli("--help");
  for (const [number, words] of Object.entries(EXIT_CODE_WORDS))
    expect(stdout).toContain(`${number}  ${words}`);
});

test("bash completes commands and the values of an option, and otherwise falls back to file names", async () => {
  const command = `#!/bin/sh\nexec "${process.execPath}" "${CLI_MAIN}" "$@"\n`;
  writeFileSync(join(folder, "chat-bridge"), command, { mode: 0o755 });
  const script = `
    source <(chat-bridge completion bash)
    ask() { COMP_WORDS=(chat-bridge "$@"); COMP_CWORD=$#; COMPREPLY=(); _chat_bridge; echo "\${COMPREPLY[*]}"; }
    ask wor; ask workspace ''; ask publish w1 --kind hang; ask publish w1 --channel ''; complete -p chat-bridge`;
  const env = { PATH: [folder, process.env["PATH"]].join(delimiter) };
  const { stdout } = await promisify(execFile)("bash", ["-c", script], { env });
  expect(stdout.split("\n")).toEqual([
    "workspace",
    "create rotate connect list show update set-url set-operator-events keys re-encrypt disconnect delete",
    "hangman_board hangman_end",
    "",
    expect.stringContaining("-o default"),
    "",
  ]);
});

test.each([
  ["zsh", "--core host:1 --js", "--json:print JSON"],
  ["fish", "completion z", "zsh"],
  ["bash", "completion bash ", ""],
])("%s completes %j", async (shell, typed, first) => {
  const { stdout } = await runCli([COMPLETE, shell, ...typed.split(" ")]);
  expect(stdout.split("\n")[0]).toContain(first);
});
