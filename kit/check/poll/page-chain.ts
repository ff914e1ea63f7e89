import type { PageContent } from "./poll-answer";

/** A page that begins at a cursor, and ends at the cursor `next`. */
export interface ChainedPage {
  readonly content: PageContent;
  readonly next: string;
}

/** The pages of the fake service. Each page begins at the cursor where the page before it ends. */
export interface PageChain {
  /** The cursor at the end of the last page; "" before the bridge has a cursor. */
  readonly tip: string;
  /** Sets the cursor at which the first page begins. */
  begin(cursor: string): void;
  add(content: PageContent): ChainedPage;
  /** Returns the page that begins at a cursor, with at most `limit` events; undefined if there is no page yet. */
  at(cursor: string, limit: number): ChainedPage | undefined;
  /** Removes the events from the page that begins at a cursor. */
  empty(cursor: string): void;
  /** Removes the page that begins at a cursor. */
  remove(cursor: string): void;
  /** Returns a new cursor. */
  cursor(): string;
}

export function createPageChain(): PageChain {
  const pages = new Map<string, ChainedPage>();
  /** Cursors begin with 0 and are above 2^53, so a bridge that parses a cursor as a number changes the cursor. */
  let last = BigInt(Date.now()) * 10_000n;
  let tip = "";
  const cursor = () => `0${String(++last)}`;

  return {
    get tip() {
      return tip;
    },
    begin: (at) => void (tip = at),
    add(content) {
      const page = { content, next: cursor() };
      pages.set(tip, page);
      tip = page.next;
      return page;
    },
    at(from, limit) {
      const page = pages.get(from);
      if (page === undefined || page.content.events.length <= limit) return page;
      const { content, next } = page;
      const first = {
        content: { ...content, events: content.events.slice(0, limit), hasMore: true },
        next: cursor(),
      };
      pages.set(from, first);
      pages.set(first.next, {
        content: { ...content, gap: false, events: content.events.slice(limit) },
        next,
      });
      return first;
    },
    empty(from) {
      const page = pages.get(from);
      if (page !== undefined) pages.set(from, { content: { events: [] }, next: page.next });
    },
    remove: (from) => void pages.delete(from),
    cursor,
  };
}
