import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { readBounded, type FileSource } from "./read-file";

const CHECK_EVERY_MS = 1_000;
/** Minimum milliseconds between two log lines about the same fault. */
const SAME_FAULT_EVERY_MS = 60_000;
/** Permissions of users who are neither the owner nor in the group of a file. */
const OTHERS = 0o007;

/** The methods of a logger that this module uses. A pino logger fits. */
export interface FileLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

interface Watched<T = unknown> {
  readonly source: FileSource<T>;
  use(value: T): void;
  /** The digest of the contents in use. */
  digest: string;
  /** Result of `stampOf` at the last check; `read` is its result when the files were last read. */
  seen: string;
  read: string;
  /** Why the files could not be read again; undefined if the current files are in use. */
  fault: string | undefined;
  loggedAt: number;
}

/**
 * Reads files again when they change, so that new tokens and certificates need no restart. Every second, compares the
 * inode, the size and the times of each file. This also detects a file that an editor replaced, and a symbolic link
 * that Kubernetes changed. On SIGHUP, reads all changed files immediately.
 *
 *                  a file differs             unchanged for a second
 *   current ────────────────────────▶ changed ──────────────────────▶ read ─▶ current, with the new content
 *      ▲                                                                │
 *      └────────── valid again ◀── faulty, with the old content ◀───────┘ unreadable or invalid
 *
 * A changed file is read only after a second without further changes, because a program may still be writing it. A
 * faulty file is read again every second, and logged every minute.
 */
export class FileWatch {
  readonly #log: FileLog;
  readonly #watched: Watched[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** Resolves when the last check is done. Checks never overlap. */
  #checks: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(log: FileLog) {
    this.#log = log;
  }

  /** The number of sources whose current files are not in use, because they are unreadable or invalid. */
  get faults(): number {
    return this.#watched.filter(({ fault }) => fault !== undefined).length;
  }

  /** Calls `use` with each new value of the source. Does nothing if the source is undefined. */
  add<T>(source: FileSource<T> | undefined, use: (value: T) => void): void {
    if (source === undefined) return;
    const digest = digestOf(source.files.map(({ bytes }) => bytes));
    const watched: Watched<T> = { source, use, digest, seen: "", read: "", fault: undefined, loggedAt: 0 };
    this.#watched.push(watched);
    void this.#warnOfModes(watched);
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => void this.#queue(false), CHECK_EVERY_MS).unref();
    // A process without files keeps Node's default and stops on SIGHUP, so that it does not outlive its terminal.
    process.on("SIGHUP", this.#onHangUp);
  }

  /** Reads all changed files immediately, without waiting for a second without changes. */
  readNow(): Promise<void> {
    return (this.#next ??= this.#queue(true));
  }

  close(): void {
    clearInterval(this.#timer);
    process.removeListener("SIGHUP", this.#onHangUp);
    this.#watched.length = 0;
  }

  readonly #onHangUp = (): void => {
    this.#log.info({}, "SIGHUP: reading the files of tokens and certificates again");
    void this.readNow();
  };

  #queue(isNow: boolean): Promise<void> {
    const previous = this.#checks;
    this.#checks = this.#checkAll(previous, isNow);
    return this.#checks;
  }

  async #checkAll(previous: Promise<void>, isNow: boolean): Promise<void> {
    await previous;
    if (isNow) this.#next = undefined;
    for (const each of this.#watched) await this.#check(each, isNow);
  }

  async #check(watched: Watched, isNow: boolean): Promise<void> {
    const stamp = await stampOf(watched.source);
    const isSettled = isNow || stamp === watched.seen;
    watched.seen = stamp;
    if (!isSettled || (stamp === watched.read && watched.fault === undefined)) return;
    const isNew = stamp !== watched.read;
    watched.read = stamp;
    try {
      this.#read(watched);
    } catch (error) {
      this.#fail(watched, error instanceof Error ? error.message : "is invalid");
      return;
    }
    if (watched.fault !== undefined) this.#log.info({ files: namesOf(watched) }, "the files are valid again");
    watched.fault = undefined;
    if (isNew) await this.#warnOfModes(watched);
  }

  #read(watched: Watched): void {
    const { source, use } = watched;
    const contents = source.files.map(({ setting, path, maxBytes }) =>
      named(setting, () => readBounded(path, maxBytes)),
    );
    const digest = digestOf(contents);
    if (digest === watched.digest) return;
    const value = named(source.files[0]?.setting ?? "", () => source.parse(contents));
    watched.digest = digest;
    use(value);
  }

  #fail(watched: Watched, why: string): void {
    const now = performance.now();
    if (why === watched.fault && now - watched.loggedAt < SAME_FAULT_EVERY_MS) return;
    watched.fault = why;
    watched.loggedAt = now;
    this.#log.error(
      { files: namesOf(watched), why },
      "a file could not be read again, so its previous content stays in use: correct the file",
    );
  }

  async #warnOfModes({ source }: Watched): Promise<void> {
    for (const { setting, path, isSecret } of source.files) {
      const mode = isSecret
        ? await stat(path).then(
            (stats) => stats.mode,
            () => 0,
          )
        : 0;
      if ((mode & OTHERS) === 0) continue;
      this.#log.warn(
        { setting, mode: (mode & 0o777).toString(8) },
        "every user of this machine can read or change a file that contains secrets: run chmod o= on the file",
      );
    }
  }
}

/** Runs `work`. If `work` throws, prefixes the error's message with the name of the setting. */
function named<V>(setting: string, work: () => V): V {
  try {
    return work();
  } catch (error) {
    const why = error instanceof Error ? error.message : "is invalid";
    throw new Error(`${setting} ${why}`, { cause: error });
  }
}

function namesOf({ source }: Watched): readonly string[] {
  return source.files.map(({ setting }) => setting);
}

function digestOf(contents: readonly Buffer[]): string {
  const hash = createHash("sha256");
  for (const bytes of contents) hash.update(`${bytes.length}:`).update(bytes);
  return hash.digest("hex");
}

/** Returns a text that changes whenever the files, or symbolic links to them, change. */
async function stampOf({ files }: FileSource<unknown>): Promise<string> {
  const stamps = files.map(({ path }) =>
    stat(path, { bigint: true }).then(
      ({ dev, ino, size, mtimeNs, ctimeNs }) => [dev, ino, size, mtimeNs, ctimeNs].join(":"),
      ({ code }: NodeJS.ErrnoException) => `unreadable:${code}`,
    ),
  );
  return (await Promise.all(stamps)).join(" ");
}
