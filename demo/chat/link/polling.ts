import { setTimeout as sleep } from "node:timers/promises";
import { cursorInMemory } from "../../../bridge/cursor-store";
import type { EventPage } from "../../../bridge/events";
import type { PollOptions } from "../../../bridge/poll";
import { pollHeld } from "../../../bridge/poll-forever";
import { runPoller } from "../../../bridge/poller";

export interface PollingOptions extends PollOptions {
  /** Applies a page. If the promise rejects, the same page is polled again. */
  readonly handle: (page: EventPage) => Promise<void>;
  /** Called with the reason when a poll fails, and with null when a poll succeeds. */
  readonly onProblem: (problem: string | null) => void;
}

/** Milliseconds before the next poll after an answer such as 404, which an immediate retry would not change. */
const REFUSED_PAUSE_MS = 10_000;
/** Time limit for fetching all held events, ms. */
const FETCH_WITHIN_MS = 30_000;

/** Returns a poller that can be stopped, and that continues from its cursor when it is started again. */
export function createPolling(options: PollingOptions) {
  const { onProblem } = options;
  const cursors = cursorInMemory();
  const report = ({ message }: Error): void => onProblem(message);
  let over = new AbortController();
  let ended: Promise<void> | undefined;

  async function handle(page: EventPage): Promise<void> {
    onProblem(null);
    await options.handle(page);
  }

  async function pollUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await runPoller({ ...options, cursors, handle, report, signal });
      } catch (error) {
        report(error as Error);
        await sleep(REFUSED_PAUSE_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  return {
    /** Starts polling. Does nothing if polling has already started. */
    start(): void {
      if (ended !== undefined) return;
      over = new AbortController();
      ended = pollUntil(over.signal);
    },

    /** Stops polling. Resolves when no poll is in progress. */
    async stop(): Promise<void> {
      over.abort();
      await ended;
      ended = undefined;
    },

    /** Fetches all held events once. Call only while polling is stopped. Rejects when a poll or the handler fails. */
    fetchAll: () => pollHeld({ ...options, cursors, handle, signal: AbortSignal.timeout(FETCH_WITHIN_MS) }),
  };
}
