/** Milliseconds for which a write stays out of the append-only file. */
const LOG_AFTER_MS = 60_000;
/**
 * Maximum number of workspaces whose counts, and whose samples, are not logged. An entry takes about 100 bytes, so all of
 * them take at most 7 MB. The writes of further workspaces are not logged later.
 */
const WAITING_MAX = 32_768;
/** Maximum number of workspaces that are logged at once. */
const AT_ONCE_MAX = 1_024;

/** What a write left out of the append-only file. */
export interface Unlogged {
  readonly counts: boolean;
  readonly samples: boolean;
}

/**
 * Remembers the workspaces whose counts or samples Redis has not logged. All times are values of `performance.now()`.
 *
 * Counts are due a minute after the last write: while writes continue, the next bucket logs them. Samples are due a minute
 * after the first write, because no other write logs them. So a flood causes one logged write per minute and workspace.
 */
export class UnloggedWrites {
  /** The time of the last write of each workspace, oldest first. */
  readonly #counts = new Map<string, number>();
  /** The time of the first write of each workspace, oldest first. */
  readonly #samples = new Map<string, number>();
  readonly #max: number;

  constructor(max = WAITING_MAX) {
    this.#max = max;
  }

  wrote(workspaceId: string, { counts, samples }: Unlogged, nowMs: number): void {
    const isWaiting = this.#counts.delete(workspaceId);
    if ((counts || isWaiting) && this.#counts.size < this.#max) this.#counts.set(workspaceId, nowMs);
    if (!samples || this.#samples.has(workspaceId) || this.#samples.size >= this.#max) return;
    this.#samples.set(workspaceId, nowMs);
  }

  /** Removes and returns the workspaces that are due. */
  take(nowMs: number, most = AT_ONCE_MAX): readonly string[] {
    const due = new Set<string>();
    for (const waiting of [this.#counts, this.#samples]) {
      for (const [workspaceId, sinceMs] of waiting) {
        if (nowMs - sinceMs < LOG_AFTER_MS || due.size >= most) break;
        due.add(workspaceId);
      }
    }
    for (const workspaceId of due) {
      this.#counts.delete(workspaceId);
      this.#samples.delete(workspaceId);
    }
    return [...due];
  }

  /** Removes and returns all workspaces. */
  takeAll(): readonly string[] {
    return this.take(Infinity, Infinity);
  }
}
