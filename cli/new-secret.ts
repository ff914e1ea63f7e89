import { closeSync, fsyncSync, ftruncateSync, openSync, unlinkSync, writeSync } from "node:fs";
import type { Command } from "commander";
import { CliFailure } from "./failure";
import { EXIT } from "./exit-code";

/** Where a new signing secret goes. It is answered once, so this is decided before it is made. */
interface SecretOptions {
  readonly showSecret?: boolean;
  readonly secretFile?: string;
}

/** The answer of a call that made one. */
interface NewSecret {
  readonly signingSecret: string;
  readonly workspace?: { readonly id: string } | undefined;
}

const OWNER_ONLY = 0o600;
/** More than any secret has. */
const ROOM_BYTES = 1024;

export function addSecretOptions(command: Command): Command {
  return command
    .option("--show-secret", "print the new signing secret; it is never shown again")
    .option("--secret-file <file>", "write the new signing secret to a new file that only you can read");
}

/**
 * Makes a signing secret. It is in the answer only where it was asked to be
 * shown. The file is there before the secret is, with room for it, so that none
 * is made in vain.
 */
export async function makeSecret<Answer extends NewSecret>(
  command: Command,
  make: () => Promise<Answer>,
): Promise<{ readonly made: Answer; readonly shown: string | undefined }> {
  const { showSecret = false, secretFile } = command.opts<SecretOptions>();
  if (!showSecret && secretFile === undefined) {
    throw new CliFailure(
      EXIT.USAGE,
      "this makes a signing secret that is shown only once: say where it goes, --show-secret or --secret-file <file>.",
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
  let at: number;
  try {
    at = openSync(path, "wx", OWNER_ONLY);
  } catch (error) {
    throw new CliFailure(
      EXIT.CANNOT_WRITE,
      `the file of the secret cannot be made (${(error as Error).message}); nothing was changed. It must be a new one.`,
    );
  }
  try {
    write(at, "\n".repeat(ROOM_BYTES));
  } catch (error) {
    discard({ at, path });
    throw new CliFailure(
      EXIT.CANNOT_WRITE,
      `the file of the secret cannot be written (${(error as Error).message}); nothing was changed.`,
    );
  }
  return { at, path };
}

/** Leaves no file. What was thrown says more than how this may fail, and perhaps has the secret. */
function discard({ at, path }: NewFile): void {
  for (const step of [() => closeSync(at), () => unlinkSync(path)]) {
    try {
      step();
    } catch {
      // It is closed already, or cannot be taken away.
    }
  }
}

/** Writes the secret over the room that was made for it. */
function keep({ at, path }: NewFile, { signingSecret, workspace }: NewSecret): void {
  try {
    write(at, `${signingSecret}\n`);
    closeSync(at);
  } catch (error) {
    // The last resort: it is in force, and without it the bridge could do nothing.
    throw new CliFailure(
      EXIT.CANNOT_WRITE,
      `workspace ${workspace?.id ?? ""} has a new signing secret, but ${path} could not be written ` +
        `(${(error as Error).message}). It is never shown again, so keep it:\n${signingSecret}`,
    );
  }
}

/** Makes a text the whole content of a file, on disk. */
function write(at: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length;) done += writeSync(at, bytes, done, bytes.length - done, done);
  ftruncateSync(at, bytes.length);
  fsyncSync(at);
}
