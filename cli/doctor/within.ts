import { setTimeout as sleep } from "node:timers/promises";

/** Time limit of one step of a check, in milliseconds. */
export const STEP_MS = 5_000;
/** Time limit of a name lookup, in milliseconds. */
export const LOOKUP_MS = 3_000;
/** Time limit of all checks together, in milliseconds. */
export const ALL_MS = 15_000;

/** Returns the result of a task, or the result of `late` if the task does not complete in time. */
export async function within<T>(ms: number, task: Promise<T>, late: () => T): Promise<T> {
  const over = new AbortController();
  const timer = sleep(ms, undefined, { signal: over.signal }).then(late);
  // If the task ends first, the timer is aborted and rejects.
  timer.catch(() => undefined);
  try {
    return await Promise.race([task, timer]);
  } finally {
    over.abort();
    // If a task ends too late, its result and its failure are ignored.
    task.catch(() => undefined);
  }
}

/** Returns the result of a name lookup. Rejects if the lookup takes too long. */
export function lookedUp<T>(task: Promise<T>): Promise<T> {
  return within(LOOKUP_MS, task, () => {
    throw new Error(`the name was not looked up within ${LOOKUP_MS / 1_000} seconds`);
  });
}
