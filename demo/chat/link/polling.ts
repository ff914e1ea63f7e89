import { cursorInMemory } from "../../../kit/cursor-store";
import type { EventPage } from "../../../kit/events";
import type { PollOptions } from "../../../kit/poll";
import { pollForever, pollHeld, type PollForeverOptions } from "../../../kit/poll-forever";

export interface PollingOptions extends PollOptions {
  /** Applies the events of a page, without waiting for the chat. */
  readonly take: PollForeverOptions["handle"];
  /** Applies a page, and waits for the chat. If the promise rejects, the same page is polled again. */
  readonly handle: (page: EventPage) => Promise<void>;
  /**
   * Called with the reason when a poll or `handle` fails, and with null when the previous page was handled and a poll
   * succeeds.
   */
  readonly onProblem: (problem: string | null) => void;
}

/** Time limit for fetching all held events, ms. */
const FETCH_WITHIN_MS = 30_000;

/** Returns a poller that can be stopped, and that continues from its cursor when it is started again. */
export function createPolling(options: PollingOptions) {
  const { onProblem } = options;
  const cursors = cursorInMemory();
  const report = ({ message }: Error): void => onProblem(message);
  const onPage = (isSolved: boolean): void => void (isSolved && onProblem(null));
  /** Aborted while polling is stopped. */
  let over = new AbortController();
  over.abort();
  /** Resolves when every poll that has started so far has ended. */
  let ended = Promise.resolve();

  return {
    /**
     * Starts polling. If a stop is in progress, polling starts after the stop. Does nothing if polling has already
     * started.
     */
    start(): void {
      if (!over.signal.aborted) return;
      over = new AbortController();
      const { signal } = over;
      ended = ended.then(() =>
        pollForever({
          ...options,
          handle: options.take,
          cursors,
          onPage,
          onProblem: report,
          isPatient: true,
          signal,
        }),
      );
    },

    /** Stops polling. Resolves when no poll is in progress. */
    async stop(): Promise<void> {
      over.abort();
      await ended;
    },

    /** Fetches all held events once. Call only while polling is stopped. Rejects when a poll or the handler fails. */
    fetchAll: () => pollHeld({ ...options, cursors, signal: AbortSignal.timeout(FETCH_WITHIN_MS) }),
  };
}
