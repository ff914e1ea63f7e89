import { CommanderError, Option } from "commander";
import { CliCommand, type Cli, type Surroundings } from "./cli";
import { addChanges } from "./changes";
import { painted, type Line } from "./colour";
import { EXIT, EXIT_CODE_WORDS, type ExitCode } from "./exit-code";
import { CliFailure } from "./failure";
import { addDeliveries } from "./deliveries";
import { addDoctor } from "./doctor/doctor";
import { addEvent } from "./event";
import { addFakeCore } from "./fake-core";
import { addFailedEvents } from "./failed-events";
import { addGroups } from "./groups";
import { addListen } from "./listen";
import { addPublish } from "./publish";
import { addRequests } from "./requests";
import { addSendTestOperatorEvent } from "./operator-events";
import { addSetup } from "./setup/setup-command";
import { addSignIn } from "./sign-in";
import { addSendTest } from "./send-test";
import { addSignatureCommands } from "./signature-commands";
import { addTail } from "./tail";
import { addWorkspaceCommands } from "./workspace-commands";
import { VERSION_TEXT } from "../runtime/version";

const exitCodes = Object.entries(EXIT_CODE_WORDS).map(([code, words]) => `  ${code.padStart(3)}  ${words}`);

/** Prefix of the message of a failed command. */
const FAILED = painted("bad", "chat-bridge:");
/** Prefix of commander's message about an invalid command line. */
const INVALID = "error:";

const MORE = `
Settings, from the environment:
  CORE_ADDRESS      address of core (127.0.0.1:50051); --core overrides it
  CORE_TOKEN        a token from core's CORE_TOKENS or CORE_TOKENS_FILE: see below
  CORE_TOKEN_FILE   a file with the token, read if CORE_TOKEN is unset; --token-file overrides both
  CORE_TLS_CA       PEM file of the authority that issued core's certificate; turns TLS on
  CORE_TLS_CERT, CORE_TLS_KEY   PEM files of the client certificate and its key; set both or neither
  DASHBOARD_INSIDE, DASHBOARD_URL   addresses of the dashboard for this program and for people, for sign-in and doctor
  BASE_URL          base address at which this program reaches an edge, for listen (http://127.0.0.1:8080) and doctor
  PUBLIC_URL        base address of the service for bridges, for new workspaces; used for doctor if BASE_URL is unset
  WORKSPACE_ID      id of a workspace, for listen
  SIGNING_SECRET    the secret for listen, sign and verify
  NO_COLOR, FORCE_COLOR   1 turns colour off or on; by default, only a terminal shows colour

Roles of tokens:
  publish, tail events                     a token with the role game
  listen, fake-core, setup, sign, verify   no token
  all other commands                       a token with the role operator

Exit codes:
${exitCodes.join("\n")}

Examples, for a service that npm start runs:
  $ export CORE_TOKEN_FILE=.data/settings.json
  $ npx chat-bridge workspace list
  $ npx chat-bridge publish <workspace> --channel general --text 'Hello'
  $ npx chat-bridge tail events`;

/** Creates the command line. A command that completes with a negative result calls `endWith` with its exit code. */
export function createProgram(surroundings: Surroundings, endWith: Cli["endWith"]): CliCommand {
  const { terminal } = surroundings;
  const program: CliCommand = new CliCommand("chat-bridge")
    .description("Manage workspaces, publish events, and watch events and deliveries.")
    .version(VERSION_TEXT, "--version", "print the version")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.tell(errorLine(text.trimEnd())),
      getOutHelpWidth: () => 110,
      getErrHelpWidth: () => 110,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError("(run with --help for details)")
    .option("--json", "print JSON, one value per line, for programs")
    .option("--core <address>", "address of core, as in CORE_ADDRESS")
    .option("--token-file <file>", "file with the token")
    .addOption(new Option("--token <token>").hideHelp())
    .moreHelp(MORE)
    .hook("preAction", () => {
      if (program.opts<{ token?: string }>().token === undefined) return;
      throw new CliFailure(
        EXIT.USAGE,
        "remove --token: a token is never an argument, because other users of this machine can read arguments; " +
          "put the token in CORE_TOKEN, or in a file that --token-file names; replace this token if anybody else uses the machine",
      );
    });
  const cli: Cli = { ...surroundings, endWith, options: () => program.opts() };
  // CONTRIBUTING.md, "Add a command to the command line", lists what else a new command needs.
  addDoctor(program, cli);
  addWorkspaceCommands(program, cli);
  addChanges(program, cli);
  addRequests(program, cli);
  addSendTest(program, cli);
  addSendTestOperatorEvent(program, cli);
  addFailedEvents(program, cli);
  addDeliveries(program, cli);
  addEvent(program, cli);
  addPublish(program, cli);
  addTail(program, cli);
  addGroups(program, cli);
  addListen(program, cli);
  addFakeCore(program, cli);
  addSignatureCommands(program, cli);
  addSetup(program, cli);
  addSignIn(program, cli);
  return program;
}

/** Returns commander's output, with the first word of an error in colour. */
function errorLine(text: string): Line {
  return text.startsWith(INVALID) ? [painted("bad", INVALID), text.slice(INVALID.length)] : text;
}

/** Runs the command line and returns the exit code. Never rejects. */
export async function runCli(args: readonly string[], surroundings: Surroundings): Promise<ExitCode> {
  const { terminal } = surroundings;
  let code: ExitCode = EXIT.DONE;
  const program = createProgram(surroundings, (other) => (code = other));
  try {
    await program.parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.DONE : EXIT.USAGE;
    if (error instanceof CliFailure) {
      terminal.tell([FAILED, ` ${error.message}`]);
      return error.exitCode;
    }
    terminal.tell([FAILED, ` internal error: ${error instanceof Error ? error.stack : String(error)}`]);
    return EXIT.FAULT;
  }
}
