import { Argument, type Argument as Positional, type Command, type Option } from "commander";
import type { Cli } from "./cli";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** The hidden first argument with which the completion scripts request candidates. */
export const COMPLETE = "__complete";

/** A word that the shell can suggest. */
export interface Candidate {
  readonly word: string;
  readonly meaning: string;
}

/** Adds the command `chat-bridge completion <shell>`, which prints the completion script for that shell. */
export function addCompletion(program: Command, cli: Cli): void {
  program
    .command("completion")
    .description("print the completion script for a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .addHelpText(
      "after",
      `
chat-bridge must be on the PATH (npm link puts it there).

Examples:
  $ source <(chat-bridge completion bash)                                  # in ~/.bashrc
  $ chat-bridge completion zsh > "\${fpath[1]}/_chat-bridge"                # then open a new shell
  $ chat-bridge completion fish > ~/.config/fish/completions/chat-bridge.fish`,
    )
    .action((shell: Shell) => cli.terminal.print(SCRIPTS[shell]));
}

/**
 * Returns the candidates for the last word in `words`. The last word can be empty. For a file name or free text, there
 * are no candidates.
 */
export function complete(program: Command, words: readonly string[]): readonly Candidate[] {
  const last = words.at(-1) ?? "";
  let command = program;
  let waiting: Option | undefined;
  let position = 0;
  for (const word of words.slice(0, -1)) {
    if (waiting !== undefined) waiting = undefined;
    else if (word.startsWith("-"))
      waiting = optionsOf(command).find(
        (each) => [each.long, each.short].includes(word) && (each.required || each.optional),
      );
    else {
      const next = command.commands.find((each) => each.name() === word);
      if (next === undefined) position++;
      else command = next;
    }
  }
  const found = waiting !== undefined ? values(waiting) : nextWords(command, last, position);
  return found.filter(({ word }) => word.startsWith(last));
}

function nextWords(command: Command, last: string, position: number): readonly Candidate[] {
  if (last.startsWith("-")) {
    return optionsOf(command).map((option) => ({
      word: option.long ?? option.short ?? "",
      meaning: option.description,
    }));
  }
  const argument = command.registeredArguments[position];
  return [
    ...command
      .createHelp()
      .visibleCommands(command)
      .filter((each) => command.commands.includes(each))
      .map((each) => ({ word: each.name(), meaning: each.description() })),
    ...(argument === undefined ? [] : values(argument)),
  ];
}

/** Returns the options of a command and of its parent commands. */
function optionsOf(command: Command): readonly Option[] {
  const help = command.createHelp();
  return [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
}

function values({ argChoices = [] }: Option | Positional): readonly Candidate[] {
  return argChoices.map((word) => ({ word, meaning: "" }));
}

/** Returns the candidates in the format that the shell's script reads, one per line. */
export function completionLines(shell: string, candidates: readonly Candidate[]): readonly string[] {
  return candidates.map(({ word, meaning }) => {
    if (shell === "zsh") return `${word.replaceAll(":", "\\:")}${meaning === "" ? "" : `:${meaning}`}`;
    if (shell === "fish") return meaning === "" ? word : `${word}\t${meaning}`;
    return word;
  });
}

const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `_chat_bridge() {
  local IFS=$'\\n'
  COMPREPLY=($(chat-bridge ${COMPLETE} bash "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _chat_bridge chat-bridge`,
  zsh: `#compdef chat-bridge
_chat_bridge() {
  local -a found
  found=("\${(@f)$(chat-bridge ${COMPLETE} zsh "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then _describe 'chat-bridge' found; else _files; fi
}
if [[ "$funcstack[1]" = _chat-bridge ]]; then _chat_bridge "$@"; else compdef _chat_bridge chat-bridge; fi`,
  fish: `function __chat_bridge_complete
    set -l words (commandline -opc)
    set -l found (chat-bridge ${COMPLETE} fish $words[2..-1] (commandline -ct) 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c chat-bridge -f -a '(__chat_bridge_complete)'`,
};
