import type { ExitCode } from "./exit-code";
import type { Terminal } from "./terminal";

/** The surroundings of the command line. */
export interface Surroundings {
  readonly terminal: Terminal;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * Returns a signal that Ctrl-C aborts. A command that calls this must then stop by itself; Ctrl-C ends the process
   * of any other command at once.
   */
  interruption(): AbortSignal;
}

/** The surroundings of a command. */
export interface Cli extends Surroundings {
  /** Returns the options of every command. */
  options(): { readonly json?: boolean; readonly core?: string; readonly tokenFile?: string };
  /** Sets the exit code of a command that neither fails nor succeeds. */
  endWith(code: ExitCode): void;
}

/** Name and description of the most common argument. */
export const WORKSPACE_ARGUMENT = ["<workspace>", "id of the workspace"] as const;

/** Prints the result: `value` as JSON with `--json`, else `lines`. */
export function answer({ terminal, options }: Cli, value: unknown, lines: readonly string[]): void {
  if (options().json === true) terminal.printJson(value);
  else terminal.print(...lines);
}
