import { REAL_TIMING } from "../../../bridge/back-off";
import type { CursorStore } from "../../../bridge/cursor-store";
import type { EventPage } from "../../../bridge/events";
import { createPoll, type PollOptions } from "../../../bridge/poll";
import { runPoller } from "../../../bridge/poller";

/** Polling that can be stopped and started, from where it stopped. */
export interface Polling {
  /** Polls from now on. Harmless when it does. */
  start(): void;
  /** Resolves when no poll is under way any more. */
  stop(): Promise<void>;
  /** Fetches all that is held, once. Call it while it is stopped. Rejects when the service cannot be reached. */
  fetchAll(): Promise<void>;
}

export interface PollingOptions extends PollOptions {
  readonly cursors: CursorStore;
  /** Rejects when the page is to come again. */
  readonly handle: (page: EventPage) => Promise<void>;
  /** Told what goes wrong, and with null that all is well again. */
  readonly onProblem: (problem: string | null) => void;
}

/** After an answer that polling on will not change: somebody may mend it meanwhile. */
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
