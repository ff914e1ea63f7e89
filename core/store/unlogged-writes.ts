/** Milliseconds for which a write stays out of the append-only file. */
const LOG_AFTER_MS = 60_000;
/**
 * Maximum number of remembered workspaces with unlogged counts, and of those with unlogged samples. An entry takes
 * about 100 bytes, so all entries take at most 7 MB. For further workspaces, core does not log the writes later.
 */
const WAITING_MAX = 32_768;
/** Maximum number of workspaces that one call of `take` returns. */
const AT_ONCE_MAX = 1_024;

/** Says which data of a write Redis did not log in the append-only file. */
export interface Unlogged {
  readonly counts: boolean;
  readonly samples: boolean;
}

/**
 * Remembers the workspaces whose counts or samples Redis has not logged. All times are values of `performance.now()`.
 *
 * Counts are due a minute after the last write, because while writes continue, the first write of the next bucket logs
 * them. Samples are due a minute after the first write, because no other write logs them. So a flood of requests causes
 * only one logged write per minute and workspace.
 */
export class UnloggedWrites {
  /** The time of the last write of each workspace that has unlogged counts, oldest first. */
  readonly #counts = new Map<string, number>();
  /** The time of the first unlogged write of samples for each workspace, oldest first. */
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
