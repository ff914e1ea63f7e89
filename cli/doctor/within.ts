import { setTimeout as sleep } from "node:timers/promises";

/** Milliseconds within which one step of a check ends. */
export const STEP_MS = 5_000;
/** Milliseconds within which a name must be looked up. */
export const LOOKUP_MS = 3_000;
/** Milliseconds within which all checks end. */
export const ALL_MS = 15_000;

/** Returns the result of a task, or of `late` if the task has no result in time. */
export async function within<T>(ms: number, task: Promise<T>, late: () => T): Promise<T> {
  const over = new AbortController();
  const timer = sleep(ms, undefined, { signal: over.signal }).then(late);
  // The timer is aborted when the task ends first.
  timer.catch(() => undefined);
  try {
    return await Promise.race([task, timer]);
  } finally {
    over.abort();
    // A task that is too late has no effect, also when it fails.
    task.catch(() => undefined);
  }
}

/** Returns the result of looking up a name. Rejects if there is none in time. */
export function lookedUp<T>(task: Promise<T>): Promise<T> {
  return within(LOOKUP_MS, task, () => {
    throw new Error(`the name was not looked up within ${LOOKUP_MS / 1_000} seconds`);
  });
}
