import { median, quartilesOf } from "./statistics";

/** Limit of a part's figure. */
export type Limit = { readonly atMost: number } | { readonly atLeast: number };

/** The times that show whether the machine was equally fast throughout a part. */
export interface Steadiness {
  /** Milliseconds that the fixed piece of work took, before and after the part. */
  readonly workMs: readonly number[];
  /** Milliseconds that the reads from memory took before each slice; empty if the part has no slices. */
  readonly memoryMs: readonly number[];
  /** The costs of the pairs of slices; empty if the figure is not their median. */
  readonly costs: readonly number[];
}

/** The limits of the figures, by part. The tables in README.md repeat these limits. */
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
 * Maximum share by which the median time of the reads from memory may exceed the fastest time. On an otherwise idle
 * machine, the median exceeds it by 4 to 17 percent, and on a busy host by more.
 */
const MEMORY_DELAY_MAX = 0.25;
/**
 * Maximum share by which a quartile of the costs may differ from their median. The measured difference is 5 to 9
 * percent on a quiet host, and up to 32 percent on a busy host.
 */
const QUARTILE_MAX = 0.1;

/** Returns "yes" or "no", or "unknown" with the reason if the machine was not steady during the part. */
export function isMet(figure: number, limit: Limit, { workMs, memoryMs, costs }: Steadiness): string {
  if (Number.isNaN(figure)) return "unknown (it was not measured)";
  const change = speedChange(workMs);
  if (change > CHANGE_MAX) return `unknown (the machine's speed changed by ${percent(change)})`;
  const delay = memoryMs.length === 0 ? 0 : median(memoryMs) / Math.min(...memoryMs) - 1;
  if (delay > MEMORY_DELAY_MAX)
    return `unknown (half of the time, the memory was at least ${percent(delay)} slower than at its fastest)`;
  const spread = quartileSpread(costs);
  if (spread > QUARTILE_MAX) return `unknown (a quartile is ${percent(spread)} from the median)`;
  return ("atMost" in limit ? figure <= limit.atMost : figure >= limit.atLeast) ? "yes" : "no";
}

/** Returns the share by which the farther quartile differs from the median; 0 if there are no values. */
function quartileSpread(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const [q1, q2, q3] = quartilesOf(values);
  return Math.max(q2 - q1, q3 - q2) / q2;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** Returns the share by which the slowest time exceeds the fastest time, e.g. 0.1 for 10 percent. */
export function speedChange(workMs: readonly number[]): number {
  return Math.max(...workMs) / Math.min(...workMs) - 1;
}
