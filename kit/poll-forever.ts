import { REAL_TIMING } from "./back-off";
import type { EventPage } from "./events";
import { createPoll, PollFailed, PollRefused, type PollOptions } from "./poll";
import { runWatchedPoller, type PollerOptions, type WatchedPollerOptions } from "./poller";

export interface PollForeverOptions extends Omit<WatchedPollerOptions, "report"> {
  /** Called for each problem. `isConnected` is false if the service did not answer the poll with a page. */
  readonly onProblem: (problem: Error, isConnected: boolean) => void;
  /** Whether polling continues even if the first poll is refused; false by default. */
  readonly isPatient?: boolean;
}

/** Milliseconds before the next poll after a refusal, such as a 404 while the workspace is disconnected. */
const REFUSED_PAUSE_MS = 30_000;
/** Statuses of refusals that can end without a change by the user: a proxy's timeout, and a wrong clock. */
const PASSING: ReadonlySet<number> = new Set([408, 409]);

/**
 * Polls like `runPoller`, but once a poll has succeeded, continues even after refusals. Until then, rejects like
 * `runPoller`, unless `isPatient` is true or the refusal can end by itself.
 */
export async function pollForever(options: PollForeverOptions): Promise<void> {
  const { signal, onProblem, isPatient = false, timing = REAL_TIMING } = options;
  let hasPolled = false;

  const onPage = (isSolved: boolean): void => {
    hasPolled = true;
    options.onPage(isSolved);
  };
  const report = (problem: Error): void => onProblem(problem, !(problem instanceof PollFailed));

  while (!signal.aborted) {
    try {
      await runWatchedPoller({ ...options, onPage, report });
    } catch (error) {
      const isPassing = error instanceof PollRefused && PASSING.has(error.status);
      if (!hasPolled && !isPatient && !isPassing) throw error;
      onProblem(error as Error, false);
      await timing.pause(REFUSED_PAUSE_MS, signal);
    }
  }
}

/**
 * Fetches and handles the held events after the saved cursor, and resolves when no more events are held. Does nothing
 * if the workspace's events are pushed, or if `start` is `latest` and no cursor is saved. Rejects when a poll or
 * `handle` fails.
 */
export async function pollHeld(
  options: PollOptions &
    Pick<PollerOptions, "cursors" | "start" | "signal"> & {
      /** Resolves when the cursor may move past the page. */
      readonly handle: (page: EventPage, signal: AbortSignal) => Promise<void> | void;
    },
): Promise<void> {
  const { cursors, handle, start, signal } = options;
  if (start === "latest" && (await cursors.load()) === undefined) return;
  const poll = createPoll(options);
  for (let hasMore = true; hasMore && !signal.aborted;) {
    const after = await cursors.load();
    const polled = await poll(after, signal).catch((error: unknown) => {
      if (error instanceof PollRefused && error.status === 403) return undefined;
      throw error;
    });
    if (polled === undefined || signal.aborted) return;
    if ("problem" in polled) throw new PollFailed(polled.problem);
    const { page } = polled;
    await handle(page, signal);
    if (page.next !== null) await cursors.save(page.next);
    hasMore = page.hasMore && page.next !== null && page.next !== after;
  }
}
