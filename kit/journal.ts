import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { appendDurably, readIfThere, replaceDurably } from "./durable-file";
import { errorOf, warn } from "./problem";

export interface JournalOptions<Entry extends object> {
  /** Growth of the file after which the file is compacted, in UTF-16 code units. */
  readonly growthMax: number;
  /** Returns the entries that the compacted file keeps, in order. `values` can contain any JSON values. */
  keep(values: Iterable<unknown>): readonly Entry[];
  /** Called when the file cannot be compacted after an `append`. The default emits a process warning. */
  readonly report?: (problem: Error) => void;
}

/** A file with one JSON value per line. */
export interface Journal<Entry extends object> {
  /**
   * Compacts or creates the file, and resolves to the entries that it keeps. Skips lines that a crash left
   * incomplete. Called once, before the first `append`.
   */
  load(): Promise<readonly Entry[]>;
  /**
   * Resolves once the value would survive a crash. Values that are appended at the same time share one write and one
   * sync. If the file cannot be compacted, `report` is called.
   */
  append(value: object): Promise<void>;
}

/** Returns a journal in the file `path`. `load` creates the folder of the file, readable only by its owner. */
export function openJournal<Entry extends object>(
  path: string,
  { growthMax, keep, report = warn }: JournalOptions<Entry>,
): Journal<Entry> {
  /** Lines that have not been written yet. */
  let waiting: string[] = [];
  let writing: Promise<void> | undefined;
  let current: Promise<void> | undefined;
  let grown = 0;

  async function compact(): Promise<readonly Entry[]> {
    const kept = keep(valuesOf((await readIfThere(path)) ?? ""));
    await replaceDurably(path, kept.map(lineOf).join(""));
    return kept;
  }

  /** Writes all lines that are waiting when `before` resolves. Many calls of `append` thus share one write. */
  async function writeAfter(before: Promise<void> | undefined): Promise<void> {
    // The writer of `before` has reported its error to its own callers.
    await before?.catch(() => undefined);
    writing = undefined;
    const lines = waiting.join("");
    waiting = [];
    // If an earlier write failed, the file may end in the middle of a line, so the new lines begin with a line break.
    await appendDurably(path, `\n${lines}`);
    grown += lines.length;
    if (grown <= growthMax) return;
    // Compacting reads and writes the whole file, so after a failed attempt, the next attempt waits for further growth.
    grown = 0;
    try {
      await compact();
    } catch (error) {
      // The values are saved, so the callers must not append them again.
      report(errorOf(`cannot compact ${path} (the file grows until this succeeds)`, error));
    }
  }

  return {
    async load() {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      return compact();
    },
    append(value) {
      waiting.push(lineOf(value));
      writing ??= current = writeAfter(current);
      return writing;
    },
  };
}

function lineOf(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/** Yields the value of each line. Skips lines that are not JSON. */
function* valuesOf(text: string): Iterable<unknown> {
  for (const line of text.split("\n")) {
    try {
      yield JSON.parse(line) as unknown;
    } catch {
      // A crash left the line incomplete.
    }
  }
}
