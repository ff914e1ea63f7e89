import { PAGE_MAX_EVENTS } from "../contract/numbers";
import type { OutboundEvent } from "./events";
import type { UnfinishedPage } from "./page-progress";
import { freshUntilMs } from "./reduce-draft";

/** Limits of the pages that are read past the saved cursor. */
export interface ReadAheadLimits {
  readonly events: number;
  /**
   * Maximum number of events while an event must be read again. This limit is lower, because then each round reads all
   * events again.
   */
  readonly eventsAgain: number;
  /** Maximum length of the events, as JSON in UTF-16 code units. */
  readonly characters: number;
  /** Maximum number of events of a page. */
  readonly page: number;
}

/**
 * A bridge must recognize all events that it reads again. The reducer remembers 10,000 event ids and 10,000 messages,
 * and the store keeps 10,000 messages of 16 Mi characters in total: see `BRIDGE_LIMITS` and `SHOWN_LIMITS`. `events`
 * and `characters` are half of these numbers, which leaves room for a last page of 8 MB. The ids and cursors in memory
 * take less than 2 MB.
 */
export const READ_AHEAD_LIMITS: ReadAheadLimits = {
  events: 5_000,
  eventsAgain: 1_000,
  characters: 8 * 1024 * 1024,
  page: PAGE_MAX_EVENTS,
};

/** A page that was passed to the handler. */
export interface PageRead {
  readonly events: readonly OutboundEvent[];
  /** Cursor at the end of the page. */
  readonly next: string;
  /** Undefined if the handler has finished the page. */
  readonly unfinished: UnfinishedPage | undefined;
}

interface Kept {
  readonly ids: readonly string[];
  readonly characters: number;
  /** Time after which all events of the page have expired, ms since the epoch. */
  readonly expiredAfterMs: number;
  next: string;
  /** Undefined once the page is done. */
  unfinished: UnfinishedPage | undefined;
}

/**
 * The pages between the saved cursor and the read position, oldest first:
 *
 *     saved cursor ─▶ unfinished page ─▶ done page ─▶ unfinished page ─▶ read position
 *
 *     unfinished ──the handler finishes──▶ done ──all earlier pages are done──▶ passed by the cursor
 *         │                                  └──all its events have expired──▶ part of the page before
 *         └───────the handler needs an event again───────▶ all pages are forgotten, and are read again
 */
export class ReadAhead {
  readonly #limits: ReadAheadLimits;
  readonly #ids = new Set<string>();
  #pages: Kept[] = [];
  #characters = 0;

  constructor(limits: ReadAheadLimits = READ_AHEAD_LIMITS) {
    this.#limits = limits;
  }

  get isEmpty(): boolean {
    return this.#pages.length === 0;
  }

  get isFull(): boolean {
    const { events, eventsAgain, characters } = this.#limits;
    const isLong = this.#ids.size >= events || this.#characters >= characters;
    return isLong || (this.#ids.size >= eventsAgain && this.#isNeededAgain());
  }

  /** Number of events in memory. */
  get size(): number {
    return this.#ids.size;
  }

  /** Cursor at the end of the last page; undefined without pages. */
  get end(): string | undefined {
    return this.#pages.at(-1)?.next;
  }

  /** Returns the events that were not read yet. */
  unread(events: readonly OutboundEvent[]): readonly OutboundEvent[] {
    return events.filter(({ id }) => !this.#ids.has(id));
  }

  /** Adds the page that begins at the read position. */
  add({ events, next, unfinished }: PageRead): void {
    const last = this.#pages.at(-1);
    // A page without new events is not added, because none of its events must be read again. So the polls of an idle
    // workspace add no pages.
    if (events.length === 0 && last !== undefined) {
      last.next = next;
      return;
    }
    const ids = events.map(({ id }) => id);
    let characters = 0;
    // The length of a page that the cursor passes immediately is not needed.
    const isPassed = last === undefined && unfinished === undefined;
    if (!isPassed) for (const event of events) characters += JSON.stringify(event).length;
    for (const id of ids) this.#ids.add(id);
    this.#characters += characters;
    const expiredAfterMs = Math.max(0, ...events.map(freshUntilMs));
    this.#pages.push({ ids, characters, expiredAfterMs, next, unfinished });
  }

  /**
   * Forgets the events of done pages that have expired: if such an event is read again, the handler drops it. So one
   * waiting create does not stop the reading of later pages, unless thousands of later events have not expired either.
   * Keeps the events that a poll of the saved cursor can return, now or after earlier pages are done.
   */
  forgetExpired(nowMs: number): void {
    const kept: Kept[] = [];
    /** Number of kept events from the last unfinished page on. The cursor can stop before this page. */
    let sinceCursor = 0;
    for (const page of this.#pages) {
      const before = kept.at(-1);
      const isNeeded = !isDone(page) || sinceCursor < this.#limits.page || page.expiredAfterMs >= nowMs;
      if (before !== undefined && !isNeeded) {
        before.next = page.next;
        this.#forget(page);
        continue;
      }
      sinceCursor = (isDone(page) ? sinceCursor : 0) + page.ids.length;
      kept.push(page);
    }
    this.#pages = kept;
  }

  /** Removes the done pages before the first unfinished page. Returns the cursor at their end; undefined for none. */
  pass(): string | undefined {
    let cursor: string | undefined;
    for (let first = this.#pages[0]; first !== undefined && isDone(first); first = this.#pages[0]) {
      this.#pages.shift();
      this.#forget(first);
      cursor = first.next;
    }
    return cursor;
  }

  /** Returns the problem of the first page whose events wait or must be read again; undefined for none. */
  problem(): Error | undefined {
    for (const page of this.#pages) {
      const progress = page.unfinished?.progress();
      if (progress !== undefined && "problem" in progress) return progress.problem;
    }
    return undefined;
  }

  /** Forgets all pages if an event of any page must be read again. */
  forgetIfNeeded(): void {
    if (!this.#isNeededAgain()) return;
    for (const { unfinished } of this.#pages) unfinished?.onReread?.();
    this.#pages = [];
    this.#ids.clear();
    this.#characters = 0;
  }

  #forget({ ids, characters }: Kept): void {
    this.#characters -= characters;
    for (const id of ids) this.#ids.delete(id);
  }

  #isNeededAgain(): boolean {
    return this.#pages.some(({ unfinished }) => unfinished?.progress().is === "again");
  }

  /** Resolves when no page has a call in progress. Never rejects: `progress` returns whether the calls succeeded. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#pages.flatMap(({ unfinished }) => unfinished?.idle?.() ?? []));
  }
}

function isDone(page: Kept): boolean {
  if (page.unfinished?.progress().is === "done") page.unfinished = undefined;
  return page.unfinished === undefined;
}
