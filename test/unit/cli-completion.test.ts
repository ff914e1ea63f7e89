import type { Command } from "commander";
import { complete, completionLines } from "../../cli/completion";
import { createProgram } from "../../cli/program";
import { createTerminal } from "../../cli/terminal";

const program = createProgram(
  { terminal: createTerminal(process), environment: {}, interruption: () => new AbortController().signal },
  () => undefined,
);
const words = (...typed: readonly string[]) => complete(program, typed).map(({ word }) => word);

function everyCommand(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

test.each<[string, readonly string[], readonly string[]]>([
  ["commands", [""], ["workspace", "send-test", "publish", "tail", "sign", "verify", "completion"]],
  ["commands that begin so", ["s"], ["send-test", "sign"]],
  [
    "commands of a command",
    ["workspace", ""],
    ["create", "rotate", "connect", "list", "show", "update", "set-url", "disconnect", "delete"],
  ],
  ["commands after options", ["--core", "host:1", "--json", "tail", ""], ["deliveries", "events"]],
  [
    "options, those of every command too",
    ["workspace", "delete", "--"],
    ["--yes", "--help", "--json", "--core", "--token-file"],
  ],
  [
    "the choices of an option",
    ["publish", "w1", "--kind", "wordgame_"],
    ["wordgame_start", "wordgame_board", "wordgame_expired"],
  ],
  ["the choices of an argument", ["completion", ""], ["bash", "zsh", "fish"]],
  ["nothing for an argument of one's own", ["workspace", "show", ""], []],
  ["nothing for the value of an option without choices", ["publish", "--channel", ""], []],
  ["nothing where all arguments are there", ["completion", "bash", ""], []],
])("completes %s", (_what, typed, wanted) => {
  expect(words(...typed)).toEqual(wanted);
});

test("the option of a token, which is only there to be refused, is offered nowhere", () => {
  for (const command of everyCommand(program)) {
    expect(
      command
        .createHelp()
        .visibleOptions(command)
        .map(({ long }) => long),
    ).not.toContain("--token");
    expect(command.helpInformation()).not.toMatch(/--token\b(?!-file)/);
  }
});

test("every command says what it does", () => {
  const without = everyCommand(program).filter((command) => command.description() === "");
  expect(without.map((command) => command.name())).toEqual([]);
});

test.each([
  ["bash", "a:b"],
  ["zsh", "a\\:b:what"],
  ["fish", "a:b\twhat"],
])("%s is answered in its own form", (shell, line) => {
  expect(completionLines(shell, [{ word: "a:b", meaning: "what" }])).toEqual([line]);
});
