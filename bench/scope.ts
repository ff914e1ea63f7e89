import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Everything that a part starts and writes, so that all of it is gone afterwards, however the part ends. */
export interface Scope {
  /** For files; removed at the end. */
  readonly folder: string;
  /** Aborted when the scope closes: gives up what is still starting. */
  readonly signal: AbortSignal;
  /** A file of its own for a process to print to. */
  logFile(name: string): string;
  /** The files that were asked for. */
  readonly logFiles: readonly string[];
  /** Takes charge of something from the moment it begins to start. */
  own<T>(starting: Promise<T>, stop: (started: T) => Promise<void> | void): Promise<T>;
  /** Stops everything, the last first, and removes the folder. Closing twice is harmless. */
  close(): Promise<void>;
}

export function createScope(): Scope {
  const folder = mkdtempSync(join(tmpdir(), "cb-bench-"));
  const over = new AbortController();
  const stops: (() => Promise<void>)[] = [];
  const logFiles: string[] = [];
  let closing: Promise<void> | undefined;

  async function closeAll(): Promise<void> {
    over.abort(new Error("the benchmark is stopping"));
    for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) await stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }

  return {
    folder,
    signal: over.signal,
    logFiles,
    logFile(name) {
      const file = join(folder, `${logFiles.length}-${name}.log`);
      logFiles.push(file);
      return file;
    },
    own(starting, stop) {
      // What failed to start is its starter's to tell of.
      const stopped = async (): Promise<void> => starting.then(stop, () => undefined);
      if (over.signal.aborted) void stopped();
      else stops.push(stopped);
      over.signal.throwIfAborted();
      return starting;
    },
    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}
