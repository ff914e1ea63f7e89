import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/** A file that a setting names, with the content that the process uses. */
export interface NamedFile {
  /** The name of the setting, for messages. */
  readonly setting: string;
  readonly path: string;
  readonly bytes: Buffer;
  readonly maxBytes: number;
  /** Whether only the process and its administrators may read the file. */
  readonly isSecret: boolean;
}

/** Files that are read together, e.g. a certificate and its key, and a function that parses their contents. */
export interface FileSource<T> {
  readonly files: readonly NamedFile[];
  /**
   * Parses the contents of `files`, in the same order. Throws if they are invalid. The message of the error completes
   * the sentence "<setting> …", and never quotes a file's content.
   */
  parse(contents: readonly Buffer[]): T;
}

/** Maximum size in bytes of a file with PEM certificates or a key. */
export const PEM_MAX_BYTES = 1_048_576;

/**
 * Returns the content of a file. Throws if the file cannot be read, is not a regular file, or has more than `maxBytes`.
 * The message of the error completes the sentence "<setting> …".
 */
export function readBounded(path: string, maxBytes: number): Buffer {
  let descriptor: number;
  try {
    // Without `O_NONBLOCK`, opening a named pipe would wait for a writer.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw unreadable(error);
  }
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error("names something that is not a file");
    const bytes = Buffer.alloc(maxBytes + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readAt(descriptor, bytes, length);
    }
    if (length > maxBytes) throw new Error(`names a file of more than ${maxBytes} bytes`);
    return Buffer.from(bytes.subarray(0, length));
  } finally {
    closeSync(descriptor);
  }
}

function readAt(descriptor: number, into: Buffer, at: number): number {
  try {
    return readSync(descriptor, into, at, into.length - at, null);
  } catch (error) {
    throw unreadable(error);
  }
}

function unreadable(error: unknown): Error {
  const { code } = error as NodeJS.ErrnoException;
  return new Error(`names a file that cannot be read${code === undefined ? "" : ` (${code})`}`);
}
