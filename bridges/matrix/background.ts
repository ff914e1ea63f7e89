import { untilAnswered } from "./client/retrying";

/** A request in the background. Posts and edits do not wait for background requests. */
type Task = (signal: AbortSignal) => Promise<void>;

const TASKS_MAX = 1_000;

export type Background = ReturnType<typeof createBackground>;

/**
 * Runs tasks one at a time, so that the homeserver's rate limit leaves room for posts and edits.
 *
 * @param onFailure called with the error of a task that was dropped
 */
export function createBackground(signal: AbortSignal, onFailure: (error: unknown) => void) {
  const waiting = new Map<string, Task>();
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    for (const [key, task] of waiting) {
      waiting.delete(key);
      await untilAnswered(() => task(signal), { signal }).catch((error: unknown) => {
        if (!signal.aborted) onFailure(error);
      });
    }
    running = undefined;
  }

  return {
    /**
     * Adds a task, which replaces a waiting task with the same key. A task that fails temporarily is repeated. If
     * `TASKS_MAX` other tasks are already waiting, the new task is dropped.
     */
    add(key: string, task: Task): void {
      if (signal.aborted) return;
      if (waiting.size >= TASKS_MAX && !waiting.has(key)) {
        onFailure(new Error(`more than ${TASKS_MAX} requests are waiting for the homeserver`));
        return;
      }
      waiting.set(key, task);
      running ??= Promise.resolve().then(run);
    },
    /** Resolves when no task is waiting or running. */
    idle: async () => running,
  };
}
