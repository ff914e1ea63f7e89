import { secretFault, withoutByteOrderMark } from "../kit/secret-form";
import type { Cli } from "./cli";
import { EXIT } from "./exit-code";
import { CliFailure } from "./failure";

/** Name and description of the option for the file with the secrets. */
export const SECRET_FILE_OPTION = ["--secret-file <file>", "file with the signing secret"] as const;

export const SECRETS_HELP = `
Put the secret in SIGNING_SECRET, or in a file that --secret-file names. During a rotation, put both secrets on
separate lines, the new one first. The secret is never an argument: other users of this machine can read arguments.`;

/**
 * Returns the signing secrets, newest first: from the file `secretFile` if given, else from SIGNING_SECRET. Rejects
 * with a `CliFailure` if there is no secret, if a secret is invalid, or if the file cannot be read.
 */
export async function readSecrets(cli: Cli, secretFile: string | undefined): Promise<readonly string[]> {
  const own = cli.environment["SIGNING_SECRET"] ?? "";
  const text = secretFile === undefined ? own : (await cli.terminal.read(secretFile)).toString("utf8");
  const secrets = withoutByteOrderMark(text)
    .split(/\r?\n/)
    .filter((line) => line !== "");
  const fault = secrets.map(secretFault).find((each) => each !== undefined);
  if (fault !== undefined) throw new CliFailure(EXIT.SETTINGS, fault);
  if (secrets.length > 0) return secrets;
  throw new CliFailure(
    EXIT.SETTINGS,
    "the signing secret is missing: put it in SIGNING_SECRET, or in a file that --secret-file names; " +
      "the secret is never an argument, because other users of this machine can read arguments",
  );
}
