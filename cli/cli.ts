import type { Command } from "commander";
import { connectAsGame, connectAsOperator, type Environment, type Game, type Operator } from "./core";
import type { Terminal } from "./terminal";

/** The surroundings of a command. */
export interface Cli {
  readonly terminal: Terminal;
  readonly environment: Environment;
  /**
   * Returns a signal that Ctrl-C aborts. A command that calls this must then stop by itself; Ctrl-C ends the process
   * of any other command at once.
   */
  interruption(): AbortSignal;
}

/** The options of every command. */
export interface GlobalOptions {
  readonly json?: boolean;
  readonly core?: string;
  readonly tokenFile?: string;
}

/** Name and description of the most common argument. */
export const WORKSPACE_ARGUMENT = ["<workspace>", "id of the workspace"] as const;

/** Prints the result: `value` as JSON with `--json`, else `lines`. */
export function answer({ terminal }: Cli, command: Command, value: unknown, lines: readonly string[]): void {
  if (command.optsWithGlobals<GlobalOptions>().json === true) terminal.printJson(value);
  else terminal.print(...lines);
}

export function asOperator<T>(
  cli: Cli,
  command: Command,
  work: (operator: Operator) => Promise<T>,
): Promise<T> {
  return closing(connectAsOperator(connection(cli, command)), work);
}

export function asGame<T>(cli: Cli, command: Command, work: (game: Game) => Promise<T>): Promise<T> {
  return closing(connectAsGame(connection(cli, command)), work);
}

async function closing<Core extends { close(): void }, T>(
  core: Core,
  work: (core: Core) => Promise<T>,
): Promise<T> {
  try {
    return await work(core);
  } finally {
    core.close();
  }
}

function connection({ environment }: Cli, command: Command) {
  const { core, tokenFile } = command.optsWithGlobals<GlobalOptions>();
  return {
    environment,
    ...(core === undefined ? {} : { core }),
    ...(tokenFile === undefined ? {} : { tokenFile }),
  };
}
