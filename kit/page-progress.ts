/** The progress of a handler with the events of one page. */
export type PageProgress =
  /** All events were shown or dropped: the cursor may move past the page. */
  | { readonly is: "done" }
  /** Calls to the chat are in progress. */
  | { readonly is: "busy" }
  /** The handler keeps the events that the chat does not accept, and retries them itself. */
  | { readonly is: "waiting"; readonly problem: Error }
  /** The handler did not keep all events, so all events after the saved cursor must be read again. */
  | { readonly is: "again"; readonly problem: Error };

/**
 * The result of a handler that has not finished a page. The saved cursor stays before the page, and the poller
 * continues with the pages after it.
 */
export interface UnfinishedPage {
  progress(): PageProgress;
  /** Resolves when no call to the chat is in progress. The poller then saves the cursor without waiting for a poll. */
  idle?(): Promise<void>;
  /** Called before the events of the page are read again. */
  onReread?(): void;
}

/**
 * A handler that has not finished a page can reject with this error. A poller that does not know this class treats the
 * page as not handled, so no event is lost.
 */
export class PageUnfinished extends Error implements UnfinishedPage {
  override readonly name = "PageUnfinished";
  readonly #onReread: () => void;

  constructor(problem: Error, onReread: () => void) {
    super(problem.message, { cause: problem });
    this.#onReread = onReread;
  }

  progress(): PageProgress {
    return { is: "again", problem: this };
  }

  onReread(): void {
    this.#onReread();
  }
}
