import { Command, Option } from "commander";
import type { Cli } from "./cli";
import { addCompletion } from "./completion";
import { EXIT, EXIT_CODE_WORDS, type ExitCode } from "./exit-code";
import { CliFailure } from "./failure";
import { addPublish } from "./publish";
import { addSendTest } from "./send-test";
import { addSignatureCommands } from "./signature-commands";
import { addTail } from "./tail";
import { addWorkspaceCommands } from "./workspace-commands";

const exitCodes = Object.entries(EXIT_CODE_WORDS).map(([code, words]) => `  ${code.padStart(3)}  ${words}`);

const MORE = `
Settings, from the environment:
  CORE_ADDRESS      where core is (127.0.0.1:50051); --core goes before it
  CORE_TOKEN        a token of core's CORE_TOKENS, of the role that the command needs: operator or game
  CORE_TOKEN_FILE   or a file of the token; --token-file goes before both
  CORE_TLS_CA       PEM file of the authority of core's certificate; turns TLS on
  CORE_TLS_CERT, CORE_TLS_KEY   PEM files, together: what core is shown
  SIGNING_SECRET    secret of sign and verify

Exit codes:
${exitCodes.join("\n")}

Examples, beside a service that npm start runs:
  $ export CORE_TOKEN_FILE=.data/settings.json
  $ npx chat-bridge workspace list
  $ npx chat-bridge publish <workspace> --channel general --text 'Hello'
  $ npx chat-bridge tail events`;

/** The whole command line. `endWith` is told how a command ends that does not fail but is no success either. */
export function createProgram(cli: Cli, endWith: (code: ExitCode) => void): Command {
  const { terminal } = cli;
  const program = new Command("chat-bridge")
    .description("Looks after workspaces, publishes events and shows what happens.")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.tell(text.trimEnd()),
      getOutHelpWidth: () => 110,
      getErrHelpWidth: () => 110,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError("(--help says more)")
    .option("--json", "answer with JSON, one value a line, for programs")
    .option("--core <address>", "where core is, as in CORE_ADDRESS")
    .option("--token-file <file>", "file of the token")
    .addOption(new Option("--token <token>").hideHelp())
    .addHelpText("after", MORE)
    .hook("preAction", (_program, command) => {
      if (command.optsWithGlobals<{ token?: string }>().token === undefined) return;
      throw new CliFailure(
        EXIT.USAGE,
        "a token is never an argument, as everybody on the machine can read those: put it in CORE_TOKEN, or in a " +
          "file that --token-file names. Give this one up for a new one where others use the machine.",
      );
    });
  addWorkspaceCommands(program, cli);
  addSendTest(program, cli, endWith);
  addPublish(program, cli);
  addTail(program, cli);
  addSignatureCommands(program, cli, endWith);
  addCompletion(program, cli);
  return program;
}
