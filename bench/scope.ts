import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Owns the processes and files of a part. When the part ends, even after a failure, the scope stops the processes and
 * removes the files.
 */
export type Scope = ReturnType<typeof createScope>;

export function createScope() {
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
    /** Folder for files; removed when the scope closes. */
    folder,
    /** Aborted when the scope closes. This cancels starts in progress. */
    signal: over.signal,
    /** All paths that `logFile` has returned. */
    logFiles: logFiles as readonly string[],
    /** Returns the path of a new file for the output of a process. */
    logFile(name: string): string {
      const file = join(folder, `${logFiles.length}-${name}.log`);
      logFiles.push(file);
      return file;
    },
    /**
     * Registers a function that stops a resource. The resource has started, or is starting. If the scope is already
     * closed, stops the resource and throws.
     */
    own<T>(starting: Promise<T> | T, stop: (started: T) => Promise<void> | void): Promise<T> {
      const promise = Promise.resolve(starting);
      // If the resource failed to start, there is nothing to stop, and the caller of `own` reports the error.
      const stopped = async (): Promise<void> => promise.then(stop, () => undefined);
      if (over.signal.aborted) void stopped();
      else stops.push(stopped);
      over.signal.throwIfAborted();
      return promise;
    },
    /** Stops everything in reverse order, and removes the folder. Closing twice is harmless. */
    close(): Promise<void> {
      closing ??= closeAll();
      return closing;
    },
  };
}
