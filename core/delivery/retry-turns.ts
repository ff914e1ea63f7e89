/** Maximum number of retries of one workspace that are in progress at the same time. A bridge that never answers has 32. */
export const RETRIES_MAX = 64;
/** Maximum milliseconds for which a due retry waits for its turn. An event that has waited longer is dropped as "overloaded". */
export const RETRY_WAIT_MAX_MS = 10_000;

interface Line<T> {
  inProgress: number;
  readonly waiting: { readonly retry: T; readonly since: number }[];
}

export interface RetryTurnsListener<T> {
  start(retry: T): void;
  /** Called instead of `start` with a retry that has waited longer than `RETRY_WAIT_MAX_MS`. */
  drop(retry: T): void;
}

/**
 * The retries of each workspace that are in progress, and those that are due and wait for their turns. The caller bounds
 * the number of events of a workspace, and so the number of waiting retries.
 */
export function createRetryTurns<T>({ start, drop }: RetryTurnsListener<T>, now = () => performance.now()) {
  const lines = new Map<string, Line<T>>();

  function advance(line: Line<T>): void {
    for (let next = line.waiting[0]; next !== undefined; next = line.waiting[0]) {
      const isLate = now() - next.since > RETRY_WAIT_MAX_MS;
      if (!isLate && line.inProgress >= RETRIES_MAX) return;
      line.waiting.shift();
      if (isLate) drop(next.retry);
      else {
        line.inProgress += 1;
        start(next.retry);
      }
    }
  }

  return {
    /** Starts a retry that is due, or lets it wait. After `start`, the caller must call `end` when the retry is over. */
    add(workspaceId: string, retry: T): void {
      const line = lines.get(workspaceId) ?? { inProgress: 0, waiting: [] };
      lines.set(workspaceId, line);
      line.waiting.push({ retry, since: now() });
      advance(line);
    },
    end(workspaceId: string): void {
      const line = lines.get(workspaceId);
      if (line === undefined) return;
      line.inProgress -= 1;
      advance(line);
      if (line.inProgress === 0) lines.delete(workspaceId);
    },
    /** Drops the retries that have waited too long. Call this every second, so that not all are dropped in one turn. */
    dropLate(): void {
      for (const line of lines.values()) advance(line);
    },
    /** Forgets the waiting retries. Those in progress go on. */
    clear(): void {
      for (const { waiting } of lines.values()) waiting.length = 0;
    },
  };
}
