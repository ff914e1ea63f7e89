import { REAL_TIMING } from "../../../bridge/back-off";
import type { CursorStore } from "../../../bridge/cursor-store";
import type { EventPage } from "../../../bridge/events";
import { createPoll, type PollOptions } from "../../../bridge/poll";
import { runPoller } from "../../../bridge/poller";

/** A poller that can be stopped, and then started again from its cursor. */
export interface Polling {
  /** Starts polling. Harmless when it is already started. */
  start(): void;
  /** Resolves when no poll is in progress. */
  stop(): Promise<void>;
  /** Fetches all held events, once. Call it while polling is stopped. Rejects when a poll or the handler fails. */
  fetchAll(): Promise<void>;
}

export interface PollingOptions extends PollOptions {
  readonly cursors: CursorStore;
  /** Applies a page; the same page is polled again when this rejects. */
  readonly handle: (page: EventPage) => Promise<void>;
  /** Called with the reason when a poll fails, and with null when a poll succeeds. */
  readonly onProblem: (problem: string | null) => void;
}

/** Pause after an answer that retries do not change, e.g. 404; somebody may fix the cause in the meantime. */
const REFUSED_PAUSE_MS = 10_000;

export function createPolling(options: PollingOptions): Polling {
  const { cursors, onProblem } = options;
  let run: { readonly over: AbortController; readonly ended: Promise<void> } | undefined;

  async function handle(page: EventPage): Promise<void> {
    onProblem(null);
    await options.handle(page);
  }

  async function pollOn(signal: AbortSignal): Promise<void> {
    const report = ({ message }: Error): void => onProblem(message);
    while (!signal.aborted) {
      try {
        await runPoller({ ...options, handle, report, signal });
      } catch (error) {
        onProblem(error instanceof Error ? error.message : String(error));
        await REAL_TIMING.pause(REFUSED_PAUSE_MS, signal);
      }
    }
  }

  return {
    start() {
      if (run !== undefined) return;
      const over = new AbortController();
      run = { over, ended: pollOn(over.signal) };
    },
    async stop() {
      const stopped = run;
      run = undefined;
      stopped?.over.abort();
      await stopped?.ended;
    },
    async fetchAll() {
      const poll = createPoll(options);
      for (let hasMore = true; hasMore;) {
        const polled = await poll(await cursors.load(), AbortSignal.timeout(REFUSED_PAUSE_MS));
        if ("problem" in polled) throw new Error(polled.problem);
        await handle(polled.page);
        if (polled.page.next !== null) await cursors.save(polled.page.next);
        ({ hasMore } = polled.page);
      }
    },
  };
}
