import { InvalidArgumentError, type Command } from "commander";
import { sign, SIGNATURE_FAULT_WORDS, verify } from "../bridge/signature";
import { answer, type Cli } from "./cli";
import { EXIT, type ExitCode } from "./exit-code";
import { CliFailure } from "./failure";
import { readInput } from "./input";

interface SignatureOptions {
  readonly query?: string;
  readonly secretFile?: string;
  readonly at?: number;
}

const NEWLINE = 0x0a;

/** `chat-bridge sign` and `chat-bridge verify` handle signatures of both directions, without core. */
export function addSignatureCommands(program: Command, cli: Cli, endWith: (code: ExitCode) => void): void {
  withSource(program.command("sign").description("create a Service-Signature header, for debugging"))
    .addHelpText(
      "after",
      `${SECRETS}

Examples:
  $ export SIGNING_SECRET=…
  $ chat-bridge sign event.json
  $ printf %s "$body" | chat-bridge sign
  $ curl "https://hooks.example/hooks/$id/events?limit=10" -H "Service-Signature: $(chat-bridge sign --query limit=10)"`,
    )
    .action(async (file: string | undefined, options: SignatureOptions, command: Command) => {
      const raw = await readRaw(cli, file, options);
      const secrets = await readSecrets(cli, options);
      const signature = sign(raw, secrets, nowMs(options));
      answer(cli, command, { signature }, [signature]);
      warnOfNewline(cli, raw);
    });

  withSource(
    program
      .command("verify")
      .description("check a Service-Signature header, for debugging")
      .argument("<signature>", "the header's value: t=…,v1=…"),
  )
    .addHelpText(
      "after",
      `${SECRETS}

Exit code 0: the signature is valid. 1: it is invalid, and the reason is printed.

Examples:
  $ chat-bridge verify "$header" body.json --secret-file ann.secret
  $ chat-bridge verify "$header" --query 'after=latest' --at 1767225600`,
    )
    .action(async (header: string, file: string | undefined, options: SignatureOptions, command: Command) => {
      const raw = await readRaw(cli, file, options);
      const secrets = await readSecrets(cli, options);
      const at = nowMs(options);
      const fault = verify(header, raw, secrets, at);
      if (fault === undefined) {
        answer(cli, command, { holds: true }, ["The signature is valid."]);
        return;
      }
      const lines = [`The signature is invalid: ${SIGNATURE_FAULT_WORDS[fault]}.`];
      const isRightWithoutNewline =
        fault === "wrong" &&
        endsWithNewline(raw) &&
        verify(header, raw.subarray(0, -1), secrets, at) !== "wrong";
      if (isRightWithoutNewline) {
        lines.push(
          "It is valid without the newline at the end, which editors and echo add (printf %s does not).",
        );
      }
      answer(cli, command, { holds: false, fault, isRightWithoutNewline }, lines);
      endWith(EXIT.NO);
    });
}

const SECRETS = `
Put the secret in SIGNING_SECRET, or in a file that --secret-file names. During a rotation, put both secrets on
separate lines, the new one first. The secret is never an argument: other users of this machine can read arguments.`;

function withSource(command: Command): Command {
  return command
    .argument("[file]", "file with the exact bytes of the body; stdin by default")
    .option("--query <query>", "the query string of a poll, without the ?, instead of a body")
    .option("--secret-file <file>", "file with the signing secret")
    .option("--at <seconds>", "current time in unix seconds, instead of this machine's clock", parseAt);
}

async function readRaw(cli: Cli, file: string | undefined, { query }: SignatureOptions): Promise<Buffer> {
  if (query === undefined) return readInput(cli, file ?? "-");
  if (file !== undefined) throw new CliFailure(EXIT.USAGE, "give either a file or --query");
  return Buffer.from(query);
}

async function readSecrets(cli: Cli, { secretFile }: SignatureOptions): Promise<readonly string[]> {
  const own = cli.environment["SIGNING_SECRET"];
  const text = secretFile === undefined ? own : (await readInput(cli, secretFile)).toString("utf8");
  const secrets = (text ?? "").split(/\r?\n/).filter((line) => line !== "");
  if (secrets.length === 0) {
    throw new CliFailure(
      EXIT.SETTINGS,
      "there is no signing secret: put it in SIGNING_SECRET, or in a file that --secret-file names; it is never an " +
        "argument, because other users of this machine can read arguments",
    );
  }
  return secrets;
}

function nowMs({ at }: SignatureOptions): number {
  return at === undefined ? Date.now() : at * 1000;
}

function endsWithNewline(raw: Buffer): boolean {
  return raw.at(-1) === NEWLINE;
}

function warnOfNewline({ terminal }: Cli, raw: Buffer): void {
  if (endsWithNewline(raw))
    terminal.tell("Note: the signed input ends with a newline. Make sure that the newline is sent too.");
}

function parseAt(text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw new InvalidArgumentError("It must be unix seconds.");
  return Number(text);
}
