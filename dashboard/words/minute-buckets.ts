import type { DeliveryShape } from "../../edge/dashboard/shapes";
import { outcomeOf } from "./advice";

/** What happened in each minute of the last hour; all lists are of one length, oldest first. */
export interface MinuteBuckets {
  /** The beginning of each minute, in seconds since the epoch. */
  readonly minutes: readonly number[];
  readonly success: readonly number[];
  readonly failed: readonly number[];
  readonly dropped: readonly number[];
  /** Of the attempts that were accepted, in ms; null in a minute without one. */
  readonly median: readonly (number | null)[];
  readonly slowest: readonly (number | null)[];
}

const MINUTE_MS = 60_000;
const MINUTES = 60;

/** Sorts deliveries into the minutes of the hour that ends now. */
export function minuteBuckets(deliveries: readonly DeliveryShape[], nowMs: number): MinuteBuckets {
  const last = Math.floor(nowMs / MINUTE_MS);
  const first = last - MINUTES + 1;
  const counts = Array.from({ length: MINUTES }, () => ({ success: 0, failed: 0, dropped: 0 }));
  const latencies = Array.from({ length: MINUTES }, (): number[] => []);
  for (const { at, result, eventType, latencyMs } of deliveries) {
    const minute = Math.floor(Date.parse(at) / MINUTE_MS) - first;
    const outcome = outcomeOf(result);
    const count = counts[minute];
    if (count === undefined) continue;
    count[outcome]++;
    if (outcome === "success" && eventType !== "poll") latencies[minute]?.push(latencyMs);
  }
  const ascending = latencies.map((each) => each.toSorted((a, b) => a - b));
  return {
    minutes: counts.map((_, i) => ((first + i) * MINUTE_MS) / 1_000),
    success: counts.map(({ success }) => success),
    failed: counts.map(({ failed }) => failed),
    dropped: counts.map(({ dropped }) => dropped),
    median: ascending.map((each) => each[Math.ceil(each.length / 2) - 1] ?? null),
    slowest: ascending.map((each) => each.at(-1) ?? null),
  };
}
