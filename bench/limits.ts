/** Limit of a part's figure. */
export type Limit = { readonly atMost: number } | { readonly atLeast: number };

/** The limits of the figures, by part. The tables in README.md repeat them. */
export const LIMITS: Readonly<Record<string, Limit>> = {
  inbound: { atMost: 2 },
  "poll-empty": { atMost: 1.7 },
  "poll-few": { atMost: 2.2 },
  "poll-page": { atMost: 4.5 },
  push: { atMost: 2.5 },
  publish: { atMost: 1.3 },
  latency: { atMost: 4 },
  mixed: { atMost: 4 },
  start: { atMost: 2.5 },
  growth: { atLeast: 0.75 },
};

/** Maximum change of the machine's speed during a part. After a larger change, the part's figure proves nothing. */
const CHANGE_MAX = 0.1;

/**
 * Returns "yes" or "no", or "unknown" with the reason if the speed of the machine changed during the part.
 *
 * @param workMs milliseconds of the fixed piece of work, before, during and after the part
 */
export function isMet(figure: number, limit: Limit, workMs: readonly number[]): string {
  const change = speedChange(workMs);
  if (change > CHANGE_MAX) return `unknown (the machine's speed changed by ${Math.round(change * 100)} %)`;
  return ("atMost" in limit ? figure <= limit.atMost : figure >= limit.atLeast) ? "yes" : "no";
}

/** Returns by which share the slowest time exceeds the fastest one, e.g. 0.1 for 10 percent. */
export function speedChange(workMs: readonly number[]): number {
  return Math.max(...workMs) / Math.min(...workMs) - 1;
}
