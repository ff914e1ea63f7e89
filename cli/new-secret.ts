import { closeSync, fsyncSync, ftruncateSync, openSync, unlinkSync, writeSync } from "node:fs";
import type { Command } from "commander";
import type { CreateWorkspaceResponse } from "../proto/gen/chatbridge/v1/workspace";
import { CliFailure } from "./failure";
import { EXIT } from "./exit-code";

/**
 * The destination of a new signing secret. Core returns a secret only once, so the user must
 * choose the destination before the secret is created.
 */
export interface SecretOptions {
  readonly showSecret?: boolean;
  readonly secretFile?: string;
}

const OWNER_ONLY = 0o600;
/** Bytes reserved in the file before a secret is created. Every secret is shorter. */
const ROOM_BYTES = 1024;

export function addSecretOptions<Kind extends Command>(command: Kind): Kind {
  return command
    .option("--show-secret", "print the new signing secret; it is never shown again")
    .option("--secret-file <file>", "write the new signing secret to a new file that only you can read");
}

/**
 * Creates a signing secret with `make`, and writes the secret to the file `secretFile`, if given. The file is created
 * and filled with padding before `make` is called. So if the file cannot store a secret, no secret is created.
 *
 * @returns core's answer as `made`, and with `--show-secret`, the secret as `shown`
 * @throws CliFailure when neither option is given, or the file cannot be created or written
 */
export async function makeSecret(
  { showSecret = false, secretFile }: SecretOptions,
  make: () => Promise<CreateWorkspaceResponse>,
): Promise<{ readonly made: CreateWorkspaceResponse; readonly shown: string | undefined }> {
  if (!showSecret && secretFile === undefined) {
    throw new CliFailure(
      EXIT.USAGE,
      "this command creates a signing secret, which is shown only once: add --show-secret or --secret-file <file>",
    );
  }
  const file = secretFile === undefined ? undefined : openNew(secretFile);
  try {
    const made = await make();
    if (file !== undefined) keep(file, made);
    return { made, shown: showSecret ? made.signingSecret : undefined };
  } catch (error) {
    if (file !== undefined) discard(file);
    throw error;
  }
}

interface NewFile {
  readonly at: number;
  readonly path: string;
}

function openNew(path: string): NewFile {
  let file: NewFile | undefined;
  try {
    file = { at: openSync(path, "wx", OWNER_ONLY), path };
    write(file.at, "\n".repeat(ROOM_BYTES));
    return file;
  } catch (error) {
    if (file !== undefined) discard(file);
    throw new CliFailure(
      EXIT.CANNOT_WRITE,
      `cannot write the secret file: ${(error as Error).message}; nothing was changed; ` +
        "name a file that does not exist, on a disk with space",
    );
  }
}

/**
 * Closes and removes the file. Errors are ignored: the caller throws a more useful error, which can contain the secret.
 */
function discard({ at, path }: NewFile): void {
  for (const step of [() => closeSync(at), () => unlinkSync(path)]) {
    try {
      step();
    } catch {
      // The file is already closed, or cannot be removed.
    }
  }
}

/** Writes the secret over the padding in the file. */
function keep({ at, path }: NewFile, { signingSecret, workspace }: CreateWorkspaceResponse): void {
  try {
    write(at, `${signingSecret}\n`);
    closeSync(at);
  } catch (error) {
    // The new secret is already active, and the bridge needs it, so the error message prints it as a last resort.
    throw new CliFailure(
      EXIT.CANNOT_WRITE,
      `workspace ${workspace?.id ?? ""} has a new signing secret, but ${path} cannot be written ` +
        `(${(error as Error).message}); store the secret now, because it is never shown again:\n${signingSecret}`,
    );
  }
}

/** Replaces the content of a file and syncs the file to disk. */
function write(at: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length;) done += writeSync(at, bytes, done, bytes.length - done, done);
  ftruncateSync(at, bytes.length);
  fsyncSync(at);
}
