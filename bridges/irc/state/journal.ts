import { closeSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { LRUCache } from "lru-cache";
import type { Printed } from "../print/what-to-print";

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

/** The sent lines of an event. */
interface SentEvent {
  /** Number of lines that were sent. */
  readonly n: number;
  /** Maximum bytes per line with which the message was divided into lines; missing if this number is unknown. */
  readonly w?: number | undefined;
}

type JournalLine = ({ readonly e: string } & SentEvent) | { readonly m: string; readonly r: MessageRecord };

/**
 * The journal in the state folder. The journal stores how many lines of each event were sent, and which parts of each
 * message were printed. If the bridge is killed, its next run therefore continues at the next line. Each record is
 * written before the call returns. A record survives a crash of the process, but may not survive a loss of power.
 */
export class Journal {
  readonly #path: string;
  readonly #report: (problem: Error) => void;
  readonly #events = new LRUCache<string, SentEvent>({ max: EVENTS_MAX });
  readonly #messages = new LRUCache<string, MessageRecord>({ max: MESSAGES_MAX });
  /** Number of records in the file. */
  #records = 0;
  /** The descriptor of the file; -1 before the first compaction, and after `close`. */
  #file = -1;

  /**
   * Opens the journal, and creates the folder.
   *
   * @param report called if the file cannot be compacted; no record is lost
   */
  constructor(folder: string, report: (problem: Error) => void) {
    this.#path = join(folder, "printed.jsonl");
    this.#report = report;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const text of readLines(this.#path)) {
      const line = parseLine(text);
      if (line !== undefined) this.#apply(line);
    }
    this.#compact();
  }

  /** Returns the number of lines of an event that were sent. */
  sentOf(eventId: string): number {
    return this.#events.peek(eventId)?.n ?? 0;
  }

  /**
   * Returns the maximum bytes of the lines into which the message of an event was divided; undefined if no line was
   * sent. With a different maximum, the next line could begin at another word.
   */
  lineBytesOf(eventId: string): number | undefined {
    return this.#events.peek(eventId)?.w;
  }

  noteSent(eventId: string, lines: number, lineBytes?: number): void {
    this.#write({ e: eventId, n: lines, w: lineBytes });
  }

  printedOf(messageId: string): Printed | undefined {
    return this.#messages.peek(messageId)?.printed;
  }

  /** Notes that a message was printed. */
  notePrinted(messageId: string, printed: Printed): void {
    this.#write({ m: messageId, r: { printed } });
  }

  /** Notes the event of a message that still has to be printed. `waiting` is undefined if that event was dropped. */
  noteWaiting(messageId: string, waiting: WaitingEvent | undefined): void {
    if (waiting === undefined && this.#messages.peek(messageId)?.waiting === undefined) return;
    this.#write({ m: messageId, r: { printed: this.printedOf(messageId), waiting } });
  }

  /**
   * Notes that a message must be printed as a whole, because its channel has shown only parts of this version, or
   * nothing of it.
   */
  noteUnprinted(messageId: string, waiting: WaitingEvent): void {
    this.#write({ m: messageId, r: { waiting } });
  }

  /** Returns the events that still have to be printed, at most one per message. */
  waiting(): readonly (WaitingEvent & { readonly messageId: string })[] {
    return [...this.#messages.rkeys()].flatMap((messageId) => {
      const waiting = this.#messages.peek(messageId)?.waiting;
      return waiting === undefined ? [] : [{ messageId, ...waiting }];
    });
  }

  close(): void {
    if (this.#file !== -1) closeSync(this.#file);
    this.#file = -1;
  }

  #apply(line: JournalLine): void {
    if ("e" in line) this.#events.set(line.e, { n: line.n, w: line.w });
    else this.#messages.set(line.m, line.r);
  }

  #write(line: JournalLine): void {
    this.#apply(line);
    writeSync(this.#file, `${JSON.stringify(line)}\n`);
    this.#records += 1;
    if (this.#records <= RECORDS_MAX) return;
    try {
      this.#compact();
    } catch (cause) {
      // The record is already written, so the failure is only reported, and the line is still sent.
      const { message } = cause as Error;
      const problem = `cannot compact ${this.#path} (the file grows until this succeeds): ${message}`;
      this.#report(new Error(problem, { cause }));
    }
  }

  /** Replaces the file with the current records. */
  #compact(): void {
    const lines: JournalLine[] = [
      ...[...this.#events.rkeys()].map((e) => ({ e, ...(this.#events.peek(e) ?? { n: 0 }) })),
      ...[...this.#messages.rkeys()].map((m) => ({ m, r: this.#messages.peek(m) ?? {} })),
    ];
    // If compacting fails, the next attempt waits for further records.
    this.#records = lines.length;
    const compacted = openSync(`${this.#path}.new`, "w", 0o600);
    try {
      writeFileSync(compacted, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
      renameSync(`${this.#path}.new`, this.#path);
    } catch (error) {
      closeSync(compacted);
      throw error;
    }
    this.close();
    this.#file = compacted;
  }
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
