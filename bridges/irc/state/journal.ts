import { closeSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { LRUCache } from "lru-cache";
import type { Printed } from "../print/printed";

const EVENTS_MAX = 2_000;
const MESSAGES_MAX = 2_000;
/** Number of records after which the file is compacted. */
const RECORDS_MAX = 20_000;

/** An event that still has to be printed. */
interface WaitingEvent {
  readonly eventId: string;
  readonly sequence: number;
  readonly expiresAt: string | null;
}

/** The printed parts of a message, and the event that still has to be printed, if any. */
interface MessageRecord {
  readonly printed?: Printed | undefined;
  readonly waiting?: WaitingEvent | undefined;
}

type JournalLine =
  | { readonly e: string; readonly n: number }
  | { readonly m: string; readonly r: MessageRecord };

export type Journal = ReturnType<typeof openJournal>;

/**
 * Opens the journal in the state folder. The journal has the number of sent lines of each event, and the printed parts
 * of each message. A bridge that was killed therefore continues at the next line. Each record is written before the
 * call returns, and survives the end of the process, but not always a loss of power. `report` is called if the file
 * cannot be compacted: the records are kept nevertheless.
 */
export function openJournal(folder: string, report: (problem: Error) => void) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, "printed.jsonl");
  const events = new LRUCache<string, number>({ max: EVENTS_MAX });
  const messages = new LRUCache<string, MessageRecord>({ max: MESSAGES_MAX });
  let records = 0;
  let file = -1;

  function apply(line: JournalLine): void {
    if ("e" in line) events.set(line.e, line.n);
    else messages.set(line.m, line.r);
  }

  /** Replaces the file with the current records. */
  function compact(): void {
    const lines: JournalLine[] = [
      ...[...events.rkeys()].map((e) => ({ e, n: events.peek(e) ?? 0 })),
      ...[...messages.rkeys()].map((m) => ({ m, r: messages.peek(m) ?? {} })),
    ];
    // If compacting fails, the next attempt waits for further records.
    records = lines.length;
    const compacted = openSync(`${path}.new`, "w", 0o600);
    try {
      writeFileSync(compacted, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
      renameSync(`${path}.new`, path);
    } catch (error) {
      closeSync(compacted);
      throw error;
    }
    if (file !== -1) closeSync(file);
    file = compacted;
  }

  function write(line: JournalLine): void {
    apply(line);
    writeSync(file, `${JSON.stringify(line)}\n`);
    records += 1;
    if (records <= RECORDS_MAX) return;
    try {
      compact();
    } catch (error) {
      // The record is written, so the line must be sent.
      const { message } = error as Error;
      report(
        new Error(`cannot compact ${path} (the file grows until this succeeds): ${message}`, {
          cause: error,
        }),
      );
    }
  }

  for (const text of readLines(path)) {
    const line = parseLine(text);
    if (line !== undefined) apply(line);
  }
  compact();

  return {
    /** The number of lines of an event that were sent. */
    sentOf: (eventId: string): number => events.peek(eventId) ?? 0,
    noteSent(eventId: string, lines: number): void {
      write({ e: eventId, n: lines });
    },
    printedOf: (messageId: string): Printed | undefined => messages.peek(messageId)?.printed,
    /** Notes that a message was printed. */
    notePrinted(messageId: string, printed: Printed): void {
      write({ m: messageId, r: { printed } });
    },
    /** Notes that an event still has to be printed; undefined if the last such event of the message was dropped. */
    noteWaiting(messageId: string, waiting: WaitingEvent | undefined): void {
      write({ m: messageId, r: { printed: messages.peek(messageId)?.printed, waiting } });
    },
    /** The events that still have to be printed, at most one of each message. */
    waiting: (): readonly (WaitingEvent & { readonly messageId: string })[] =>
      [...messages.rkeys()].flatMap((messageId) => {
        const waiting = messages.peek(messageId)?.waiting;
        return waiting === undefined ? [] : [{ messageId, ...waiting }];
      }),
    close(): void {
      if (file !== -1) closeSync(file);
      file = -1;
    },
  };
}

function readLines(path: string): readonly string[] {
  try {
    return readFileSync(path, "utf8").split("\n");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Returns the record in a line of the file; undefined for a line that a crash left incomplete. */
function parseLine(text: string): JournalLine | undefined {
  try {
    const line = JSON.parse(text) as Partial<{ e: unknown; n: unknown; m: unknown; r: unknown }> | null;
    const isEvent = typeof line?.e === "string" && Number.isSafeInteger(line.n);
    const isMessage = typeof line?.m === "string" && typeof line.r === "object" && line.r !== null;
    return isEvent || isMessage ? (line as JournalLine) : undefined;
  } catch {
    return undefined;
  }
}
