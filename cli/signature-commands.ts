import { InvalidArgumentError } from "commander";
import { explainFault, sign, verify } from "../kit/signature";
import { painted, type Line } from "./colour";
import { answer, type Cli, type CliCommand } from "./cli";
import { EXIT } from "./exit-code";
import { CliFailure } from "./failure";
import { readSecrets, SECRET_FILE_OPTION, SECRETS_HELP } from "./signing-secret";

interface SignatureOptions {
  readonly query?: string;
  readonly secretFile?: string;
  /** Time to use instead of the current time, in ms since the epoch. */
  readonly at?: number;
}

const NEWLINE = 0x0a;

/** `chat-bridge sign` and `chat-bridge verify` create and check signatures without core. */
export function addSignatureCommands(program: CliCommand, cli: Cli): void {
  withSource(program.command("sign").description("create a Service-Signature header, for debugging"))
    .moreHelp(`${SECRETS_HELP}

Examples:
  $ export SIGNING_SECRET=…
  $ chat-bridge sign event.json
  $ printf %s "$body" | chat-bridge sign
  $ curl "https://hooks.example/hooks/$id/events?limit=10" -H "Service-Signature: $(chat-bridge sign --query limit=10)"`)
    .action(async (file: string | undefined, options: SignatureOptions) => {
      const { raw, secrets, at } = await readSigned(cli, file, options);
      const signature = sign(raw, secrets, at);
      answer(cli, { signature }, [signature]);
      if (endsWithNewline(raw))
        cli.terminal.tell(
          "Note: the signed input ends with a newline. Make sure that the newline is sent too.",
        );
    });

  withSource(
    program
      .command("verify")
      .description("check a Service-Signature header, for debugging")
      .argument("<signature>", "the header's value: t=…,v1=…"),
  )
    .moreHelp(`${SECRETS_HELP}

Exit code 0: the signature is valid. 1: it is invalid, and the reason is printed.

Examples:
  $ chat-bridge verify "$header" body.json --secret-file ann.secret
  $ chat-bridge verify "$header" --query 'after=latest' --at 1767225600`)
    .action(async (header: string, file: string | undefined, options: SignatureOptions) => {
      const { raw, secrets, at } = await readSigned(cli, file, options);
      const fault = verify(header, raw, secrets, at);
      if (fault === undefined) {
        answer(cli, { holds: true }, [painted("good", "The signature is valid.")]);
        return;
      }
      const lines: Line[] = [
        [painted("bad", "The signature is invalid:"), ` ${explainFault(fault, header, at)}.`],
      ];
      const isRightWithoutNewline =
        fault === "wrong" &&
        endsWithNewline(raw) &&
        verify(header, raw.subarray(0, -1), secrets, at) !== "wrong";
      if (isRightWithoutNewline) {
        lines.push(
          "The signature matches without the newline at the end of the input. Editors and echo add a newline; printf %s does not.",
        );
      }
      answer(cli, { holds: false, fault, isRightWithoutNewline }, lines);
      cli.endWith(EXIT.NO);
    });
}

function withSource(command: CliCommand): CliCommand {
  return command
    .argument("[file]", "file with the exact bytes of the body; stdin by default")
    .option("--query <query>", "the query string of a poll, without the ?, instead of a body")
    .option(...SECRET_FILE_OPTION)
    .option("--at <seconds>", "current time in unix seconds, instead of this machine's clock", parseAt);
}

/** Returns the bytes that are signed, from a file, from stdin, or from a query string. */
export async function readSource(
  cli: Cli,
  file: string | undefined,
  query: string | undefined,
): Promise<Buffer> {
  if (query !== undefined && file !== undefined)
    throw new CliFailure(EXIT.USAGE, "give a file or --query, not both");
  return query === undefined ? cli.terminal.read(file ?? "-") : Buffer.from(query);
}

/** Returns the bytes that are signed, the secrets, and the current time in ms. */
async function readSigned(cli: Cli, file: string | undefined, options: SignatureOptions) {
  const { query, secretFile, at = Date.now() } = options;
  const raw = await readSource(cli, file, query);
  return { raw, secrets: await readSecrets(cli, secretFile), at };
}

function endsWithNewline(raw: Buffer): boolean {
  return raw.at(-1) === NEWLINE;
}

/** Returns the time in ms. */
function parseAt(text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw new InvalidArgumentError("It must be unix seconds.");
  return Number(text) * 1000;
}
