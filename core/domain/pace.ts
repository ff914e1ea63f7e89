import type { EndSignal } from "./end-signal";

export interface PaceOptions {
  /** The amount that one key can use per second. */
  readonly perSecond: number;
  /** The amount that a key can use at once after a period without use. */
  readonly burst: number;
}

interface Line {
  /** The `performance.now()` time at which the key can use its whole burst again. */
  restedAt: number;
  /** The waiting tasks, in order: maps the function that begins a task to the amount that the task uses. */
  readonly waiting: Map<() => void, number>;
  timer?: NodeJS.Timeout;
}

/**
 * Limits the rate at which tasks begin, separately for each key: a token bucket that delays tasks (throttling). A task
 * that exceeds the rate waits, and is never refused. The tasks of a key begin in the order of their calls. A task can
 * begin unless the burst is used up. If the task uses more than is left of the burst, later tasks wait longer.
 *
 * The map of keys never shrinks, so there must be few keys, e.g. the names of tokens.
 */
export function createPace({ perSecond, burst }: PaceOptions) {
  const burstMs = (burst / perSecond) * 1_000;
  const lines = new Map<string, Line>();

  /** Returns the milliseconds until the next waiting task can begin: negative if a task can begin now. */
  function untilNextMs({ restedAt }: Line): number {
    return restedAt - burstMs - performance.now();
  }

  function use(line: Line, amount: number): void {
    line.restedAt = Math.max(line.restedAt, performance.now()) + (amount / perSecond) * 1_000;
  }

  function beginDue(line: Line): void {
    delete line.timer;
    for (const [begin, amount] of line.waiting) {
      if (untilNextMs(line) >= 0) break;
      line.waiting.delete(begin);
      use(line, amount);
      begin();
    }
    waitForNext(line);
  }

  function waitForNext(line: Line): void {
    if (line.timer !== undefined || line.waiting.size === 0) return;
    // A Node timer can fire up to a millisecond early.
    line.timer = setTimeout(beginDue, Math.max(0, Math.ceil(untilNextMs(line))) + 1, line).unref();
  }

  function lineOf(key: string): Line {
    const known = lines.get(key);
    if (known !== undefined) return known;
    const line = { restedAt: 0, waiting: new Map<() => void, number>() };
    lines.set(key, line);
    return line;
  }

  return {
    /** Uses `amount` without waiting, so later tasks of the key wait longer. */
    use: (key: string, amount: number): void => use(lineOf(key), amount),
    /**
     * Resolves when the key may begin a task that uses `amount`. If `signal` is aborted first, rejects with the
     * signal's reason, and uses nothing.
     */
    async begin(key: string, amount: number, signal?: EndSignal): Promise<void> {
      signal?.throwIfAborted();
      const line = lineOf(key);
      if (line.waiting.size === 0 && untilNextMs(line) < 0) {
        use(line, amount);
        return;
      }
      await new Promise<void>((resolve, reject) => {
        function begin(): void {
          signal?.removeEventListener("abort", leave);
          resolve();
        }
        function leave(): void {
          line.waiting.delete(begin);
          reject(signal?.reason);
        }
        signal?.addEventListener("abort", leave, { once: true });
        line.waiting.set(begin, amount);
        waitForNext(line);
      });
    },
  };
}
