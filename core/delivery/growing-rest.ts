const REST_MIN_MS = 1_000;
const REST_MAX_MS = 60_000;

/** A pause between two attempts. */
export interface Rest {
  readonly ms: number;
  /** The `performance.now()` time at which the pause ends. */
  readonly until: number;
}

/**
 * Begins a pause. The first pause lasts one second. Each later pause is twice as long as the pause `before`, up to one
 * minute (exponential backoff without jitter).
 */
export function nextRest(before: Rest | undefined): Rest {
  const ms = before === undefined ? REST_MIN_MS : Math.min(REST_MAX_MS, before.ms * 2);
  return { ms, until: performance.now() + ms };
}

export function isOver(rest: Rest | undefined): boolean {
  return rest === undefined || performance.now() >= rest.until;
}
