import { Command } from "commander";
import type { Line } from "./colour";
import type { ExitCode } from "./exit-code";
import type { Terminal } from "./terminal";

/** The parts of the process that a command uses, e.g. the terminal and the environment. */
export interface Surroundings {
  readonly terminal: Terminal;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * Returns a signal that is aborted on Ctrl-C. A command that calls this function must stop when the signal is
   * aborted. Ctrl-C stops all other commands immediately.
   */
  interruption(): AbortSignal;
}

/** Everything that a command uses besides its own arguments and options. */
export interface Cli extends Surroundings {
  /** Returns the options that all commands share. */
  options(): { readonly json?: boolean; readonly core?: string; readonly tokenFile?: string };
  /** Sets the exit code of a command that completes with a negative result, e.g. an invalid signature. */
  endWith(code: ExitCode): void;
}

/** A command whose help can also contain further text, e.g. examples. */
export class CliCommand extends Command {
  override createCommand(name?: string): CliCommand {
    return new CliCommand(name);
  }

  /** Adds text to the end of the help. */
  moreHelp(text: string): this {
    return this.addHelpText("after", text);
  }
}

/** The base address of the service that `npm start` runs. */
export const DEFAULT_BASE_URL = "http://127.0.0.1:8080";

/** Name and description of the argument that most commands have. */
export const WORKSPACE_ARGUMENT = ["<workspace>", "id or unique name of the workspace"] as const;

/** Prints the result: `value` as JSON with `--json`, else `lines`. */
export function answer({ terminal, options }: Cli, value: unknown, lines: readonly Line[]): void {
  if (options().json === true) terminal.printJson(value);
  else terminal.print(...lines);
}
