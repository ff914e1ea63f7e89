import { RESULT_MEANINGS } from "../../contract/deliveries";
import type { DeliveryShape } from "../../proto/json/shapes";

/** The counted kinds: push attempts by outcome, and polls. */
type Counted = "success" | "failed" | "dropped" | "polls";

/** The counts for each minute of the last hour. All lists have the same length, and begin with the oldest minute. */
export interface MinuteBuckets extends Readonly<Record<Counted, readonly number[]>> {
  /** Events that polls returned. */
  readonly fetched: readonly number[];
  /** Whether each minute passed without a poll; false before the first known poll, and for partial minutes. */
  readonly silent: readonly boolean[];
  /** Start of each minute, in seconds since the epoch. */
  readonly minutes: readonly number[];
  /** Median and slowest latency of the accepted attempts, in ms; null in a minute without accepted attempts. */
  readonly median: readonly (number | null)[];
  readonly slowest: readonly (number | null)[];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** An hour that does not begin on the minute contains 59 full minutes, and a partial minute at each end. */
const MINUTES = 61;

/** Counts the deliveries of the last hour by minute. The health of a workspace covers the last hour too. */
export function minuteBuckets(deliveries: readonly DeliveryShape[], nowMs: number): MinuteBuckets {
  const sinceMs = nowMs - HOUR_MS;
  const first = Math.floor(sinceMs / MINUTE_MS);
  const indexOf = (atMs: number) => Math.floor(atMs / MINUTE_MS) - first;
  const counts = Array.from({ length: MINUTES }, () => ({
    success: 0,
    failed: 0,
    dropped: 0,
    polls: 0,
    fetched: 0,
  }));
  const latencies = Array.from({ length: MINUTES }, (): number[] => []);
  let firstPollMs = Infinity;
  for (const delivery of deliveries) {
    if (delivery.polls > 0) {
      const pollMs = Date.parse(delivery.at);
      firstPollMs = Math.min(firstPollMs, pollMs);
      const fetching = pollMs > sinceMs ? counts[indexOf(Math.min(pollMs, nowMs))] : undefined;
      if (fetching !== undefined) fetching.fetched += delivery.events;
      const until = pollsUntil(delivery);
      counts.forEach((count, i) => {
        const fromMs = Math.max(sinceMs, (first + i) * MINUTE_MS - 1);
        // If the browser's clock is behind core's clock, polls seem to be in the future, and are counted in the last
        // minute.
        const toMs = i === MINUTES - 1 ? Infinity : (first + i + 1) * MINUTE_MS - 1;
        count.polls += until(toMs) - until(fromMs);
      });
      continue;
    }
    const atMs = Math.min(Date.parse(delivery.at), nowMs);
    if (atMs <= sinceMs) continue;
    const outcome = RESULT_MEANINGS[delivery.result].outcome;
    const count = counts[indexOf(atMs)];
    if (count !== undefined) count[outcome]++;
    if (outcome === "success") latencies[indexOf(atMs)]?.push(delivery.latencyMs);
  }
  const ascending = latencies.map((each) => each.toSorted((a, b) => a - b));
  return {
    minutes: counts.map((_, i) => ((first + i) * MINUTE_MS) / 1_000),
    success: counts.map(({ success }) => success),
    failed: counts.map(({ failed }) => failed),
    dropped: counts.map(({ dropped }) => dropped),
    polls: counts.map(({ polls }) => polls),
    fetched: counts.map(({ fetched }) => fetched),
    silent: counts.map(({ polls }, i) => {
      const fromMs = (first + i) * MINUTE_MS;
      return polls === 0 && i > 0 && fromMs >= firstPollMs && fromMs + MINUTE_MS <= nowMs;
    }),
    median: ascending.map((each) => each[Math.ceil(each.length / 2) - 1] ?? null),
    slowest: ascending.map((each) => each.at(-1) ?? null),
  };
}

/** Returns a function that counts the polls of a log entry up to a time. The polls are assumed to be evenly spaced. */
function pollsUntil({ at, lastAt, polls }: DeliveryShape): (atMs: number) => number {
  const firstMs = Date.parse(at);
  const lastMs = Date.parse(lastAt ?? at);
  return (atMs) => {
    if (atMs < firstMs) return 0;
    if (atMs >= lastMs) return polls;
    return 1 + Math.floor(((polls - 1) * (atMs - firstMs)) / (lastMs - firstMs));
  };
}
