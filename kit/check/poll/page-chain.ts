import type { PageContent } from "./fake-service";

/** A page that begins at a cursor, and ends at the cursor `next`. */
export interface ChainedPage {
  readonly content: PageContent;
  readonly next: string;
}

/**
 * Number of passed pages that are kept, because a bridge may read a page again until its chat has shown the page's
 * events.
 */
const PASSED_MOST = 100;

/**
 * The pages of the fake service. Each page begins at the cursor where the previous page ends. The bridge may read a
 * passed page again until its chat has shown the page's events:
 *
 *     added ──the bridge polls with the page's next──▶ passed ──more than 100 passed pages──▶ removed
 */
export class PageChain {
  readonly #pages = new Map<string, ChainedPage>();
  /** Cursors at which the passed pages begin, oldest first. */
  readonly #passed = new Set<string>();
  /**
   * Cursors have a leading 0 and are larger than 2^53: if a bridge parses a cursor as a number and writes it again, the
   * cursor changes.
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

  /** Returns the page that begins at a cursor, cut to at most `limit` events; undefined if no page begins there yet. */
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

  /** Notes that the bridge has passed the page that begins at a cursor. */
  pass(cursor: string): void {
    if (this.#pages.has(cursor)) this.#passed.add(cursor);
    for (const oldest of this.#passed) {
      if (this.#passed.size <= PASSED_MOST) break;
      this.#passed.delete(oldest);
      this.#pages.delete(oldest);
    }
  }

  /**
   * Returns whether the bridge may poll from a passed cursor again: the page at the cursor, or a passed page before it,
   * contains an event that the chat may not have shown yet.
   */
  mayReread(cursor: string): boolean {
    if (!this.#passed.has(cursor)) return false;
    for (const from of this.#passed) {
      const { events = [] } = this.#pages.get(from)?.content ?? {};
      if (events.some((event) => !("type" in event && event.type === "ping"))) return true;
      if (from === cursor) return false;
    }
    return false;
  }

  /** Returns a new cursor, which belongs to no page. */
  cursor(): string {
    return `0${String(++this.#last)}`;
  }
}
