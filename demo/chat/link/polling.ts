import { cursorInMemory } from "../../../bridge/cursor-store";
import type { EventPage } from "../../../bridge/events";
import type { PollOptions } from "../../../bridge/poll";
import { pollForever, pollHeld } from "../../../bridge/poll-forever";

export interface PollingOptions extends PollOptions {
  /** Applies a page. If the promise rejects, the same page is polled again. */
  readonly handle: (page: EventPage) => Promise<void>;
  /** Called with the reason when a poll fails, and with null when a poll succeeds. */
  readonly onProblem: (problem: string | null) => void;
}

/** Time limit for fetching all held events, ms. */
const FETCH_WITHIN_MS = 30_000;

/** Returns a poller that can be stopped, and that continues from its cursor when it is started again. */
export function createPolling(options: PollingOptions) {
  const { onProblem } = options;
  const cursors = cursorInMemory();
  const report = ({ message }: Error): void => onProblem(message);
  const onPage = (): void => onProblem(null);
  let over = new AbortController();
  let ended: Promise<void> | undefined;

  return {
    /** Starts polling. Does nothing if polling has already started. */
    start(): void {
      if (ended !== undefined) return;
      over = new AbortController();
      const { signal } = over;
      ended = pollForever({ ...options, cursors, onPage, onProblem: report, isPatient: true, signal });
    },

    /** Stops polling. Resolves when no poll is in progress. */
    async stop(): Promise<void> {
      over.abort();
      await ended;
      ended = undefined;
    },

    /** Fetches all held events once. Call only while polling is stopped. Rejects when a poll or the handler fails. */
    fetchAll: () => pollHeld({ ...options, cursors, signal: AbortSignal.timeout(FETCH_WITHIN_MS) }),
  };
}
