import { median } from "./statistics";

/** Limit of a part's figure. */
export type Limit = { readonly atMost: number } | { readonly atLeast: number };

/** How fast the machine was during a part. */
export interface Speeds {
  /** Milliseconds of the fixed piece of work, before and after the part. */
  readonly workMs: readonly number[];
  /** Milliseconds of the reads from memory before each slice; empty if the part has no slices. */
  readonly memoryMs: readonly number[];
}

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
 * By how much the median of the reads from memory may exceed the fastest ones. The median exceeds them by 4 to 17 percent
 * on a machine that does nothing else, and by 36 percent beside a program that writes to memory all the time.
 */
const MEMORY_DELAY_MAX = 0.25;

/** Returns "yes" or "no", or "unknown" with the reason if the machine was not steady during the part. */
export function isMet(figure: number, limit: Limit, { workMs, memoryMs }: Speeds): string {
  const change = speedChange(workMs);
  if (change > CHANGE_MAX) return `unknown (the machine's speed changed by ${percent(change)})`;
  const delay = memoryMs.length === 0 ? 0 : median(memoryMs) / Math.min(...memoryMs) - 1;
  if (delay > MEMORY_DELAY_MAX)
    return `unknown (half of the time, the memory was at least ${percent(delay)} slower than at its fastest)`;
  return ("atMost" in limit ? figure <= limit.atMost : figure >= limit.atLeast) ? "yes" : "no";
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** Returns by which share the slowest time exceeds the fastest one, e.g. 0.1 for 10 percent. */
export function speedChange(workMs: readonly number[]): number {
  return Math.max(...workMs) / Math.min(...workMs) - 1;
}
