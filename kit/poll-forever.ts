import { REAL_TIMING } from "./back-off";
import type { CursorStore } from "./cursor-store";
import { createPoll, PollFailed, PollRefused, type PollOptions } from "./poll";
import { runPoller, type PollerOptions } from "./poller";

export interface PollForeverOptions extends Omit<PollerOptions, "report"> {
  /**
   * Called with each page, before the page is handled. `isSolved` is false if the previous page was not handled, or its
   * cursor was not saved. The poller reports such a problem only once, not for each page.
   */
  readonly onPage: (isSolved: boolean) => void;
  /** Called for each problem. `isConnected` is false if the service did not answer the poll with a page. */
  readonly onProblem: (problem: Error, isConnected: boolean) => void;
  /** Whether polling continues even if the first poll is refused; false by default. */
  readonly isPatient?: boolean;
}

/** Milliseconds before the next poll after a refusal, such as a 404 while the workspace is disconnected. */
const REFUSED_PAUSE_MS = 30_000;

/**
 * Polls like `runPoller`, but also continues after a refusal, once a poll has succeeded. Rejects like `runPoller` if no
 * poll has succeeded, unless `isPatient` is true.
 */
export async function pollForever(options: PollForeverOptions): Promise<void> {
  const { signal, onPage, onProblem, isPatient = false, timing = REAL_TIMING } = options;
  let hasPolled = false;
  let isHandled = true;
  let isSaved = true;

  async function handle(...[page, stop]: Parameters<PollerOptions["handle"]>): Promise<void> {
    hasPolled = true;
    onPage(isHandled && isSaved);
    isHandled = false;
    await options.handle(page, stop);
    isHandled = true;
  }

  const cursors: CursorStore = {
    load: () => options.cursors.load(),
    async save(cursor) {
      isSaved = false;
      await options.cursors.save(cursor);
      isSaved = true;
    },
  };

  const report = (problem: Error): void => onProblem(problem, !(problem instanceof PollFailed));

  while (!signal.aborted) {
    try {
      await runPoller({ ...options, cursors, handle, report });
    } catch (error) {
      if (!hasPolled && !isPatient) throw error;
      onProblem(error as Error, false);
      await timing.pause(REFUSED_PAUSE_MS, signal);
    }
  }
}

/**
 * Fetches and handles the held events after the saved cursor, and resolves when there are no more. Does nothing if the
 * workspace's events are pushed, or if `start` is `latest` and no cursor is saved. Rejects when a poll or `handle`
 * fails.
 */
export async function pollHeld(
  options: PollOptions & Pick<PollerOptions, "cursors" | "handle" | "start" | "signal">,
): Promise<void> {
  const { cursors, handle, start, signal } = options;
  if (start === "latest" && (await cursors.load()) === undefined) return;
  const poll = createPoll(options);
  for (let hasMore = true; hasMore && !signal.aborted;) {
    const polled = await poll(await cursors.load(), signal).catch((error: unknown) => {
      if (error instanceof PollRefused && error.status === 403) return undefined;
      throw error;
    });
    if (polled === undefined || signal.aborted) return;
    if ("problem" in polled) throw new PollFailed(polled.problem);
    const { page } = polled;
    await handle(page, signal);
    if (page.next !== null) await cursors.save(page.next);
    hasMore = page.hasMore;
  }
}
