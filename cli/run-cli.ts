import { CommanderError } from "commander";
import type { Cli } from "./cli";
import { COMPLETE, complete, completionLines } from "./completion";
import { EXIT, type ExitCode } from "./exit-code";
import { CliFailure } from "./failure";
import { createProgram } from "./program";

/** Runs the command line and returns the exit code. Never rejects. */
export async function runCli(args: readonly string[], cli: Cli): Promise<ExitCode> {
  const { terminal } = cli;
  let code: ExitCode = EXIT.DONE;
  const program = createProgram(cli, (other) => (code = other));
  const [first, shell = "", ...words] = args;
  if (first === COMPLETE) {
    terminal.printOwn(completionLines(shell, complete(program, words)));
    return EXIT.DONE;
  }
  try {
    await program.parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.DONE : EXIT.USAGE;
    if (error instanceof CliFailure) {
      terminal.tell(`chat-bridge: ${error.message}`);
      return error.exitCode;
    }
    terminal.tell(`chat-bridge: internal error: ${error instanceof Error ? error.stack : String(error)}`);
    return EXIT.FAULT;
  }
}
