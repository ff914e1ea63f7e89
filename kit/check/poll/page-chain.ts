import type { PageContent } from "./fake-service";

/** A page that begins at a cursor, and ends at the cursor `next`. */
export interface ChainedPage {
  readonly content: PageContent;
  readonly next: string;
}

/** The pages of the fake service. Each page begins at the cursor where the page before it ends. */
export class PageChain {
  readonly #pages = new Map<string, ChainedPage>();
  /**
   * Cursors have a leading 0 and are larger than 2^53: if a bridge parses a cursor as a number, the cursor is altered.
   */
  #last = BigInt(Date.now()) * 10_000n;
  #tip = "";

  /** The cursor at the end of the last page; "" before the bridge has a cursor. */
  get tip(): string {
    return this.#tip;
  }

  /** Sets the cursor at which the first page begins. */
  begin(cursor: string): void {
    this.#tip = cursor;
  }

  add(content: PageContent): ChainedPage {
    const page = { content, next: this.cursor() };
    this.#pages.set(this.#tip, page);
    this.#tip = page.next;
    return page;
  }

  /** Returns the page that begins at a cursor, with at most `limit` events; undefined if there is no such page yet. */
  at(cursor: string, limit: number): ChainedPage | undefined {
    const page = this.#pages.get(cursor);
    if (page === undefined || page.content.events.length <= limit) return page;
    const { content, next } = page;
    const { events } = content;
    const first = {
      content: { ...content, events: events.slice(0, limit), hasMore: true },
      next: this.cursor(),
    };
    this.#pages.set(cursor, first);
    this.#pages.set(first.next, { content: { ...content, gap: false, events: events.slice(limit) }, next });
    return first;
  }

  /** Removes the events from the page that begins at a cursor. */
  empty(cursor: string): void {
    const page = this.#pages.get(cursor);
    if (page !== undefined) this.#pages.set(cursor, { content: { events: [] }, next: page.next });
  }

  /** Removes the page that begins at a cursor. */
  remove(cursor: string): void {
    this.#pages.delete(cursor);
  }

  /** Returns a new cursor, which belongs to no page. */
  cursor(): string {
    return `0${String(++this.#last)}`;
  }
}
