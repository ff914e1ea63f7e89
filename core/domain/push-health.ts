import { FAILURES } from "../../contract/deliveries";
import type { HealthState } from "../../contract/health-states";
import { isPoll, type LoggedDelivery } from "./delivery";
import { pushState, type PushFact } from "./health-state";

const HOUR_MS = 60 * 60 * 1000;

/** The health of the pushes of a workspace, computed from the attempts that are still logged. */
export interface PushHealth {
  readonly state: HealthState;
  /** The time of the first accepted attempt after the last failure; undefined while pushes fail. */
  readonly recoveredAtMs: number | undefined;
  readonly lastSuccess: LoggedDelivery | undefined;
  readonly lastFailure: LoggedDelivery | undefined;
  /** The number of attempts in the last hour. */
  readonly attempts: number;
  /** The number of successful attempts in the last hour. */
  readonly successes: number;
  /** Percentiles of the latencies of the successful attempts, in ms. */
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number };
}

const FAILED: ReadonlySet<string> = new Set(FAILURES);

/**
 * Returns the health of the pushes of a workspace.
 *
 * @param deliveries the entries of the workspace's delivery log, newest first
 */
export function pushHealth(deliveries: readonly LoggedDelivery[], nowMs: number): PushHealth {
  const pushes = deliveries.filter((each) => !isPoll(each));
  const succeeded = ({ result }: LoggedDelivery): boolean => result === "success";
  const failed = ({ result }: LoggedDelivery): boolean => FAILED.has(result);
  const recent = pushes.filter((each) => each.atMs > nowMs - HOUR_MS && (succeeded(each) || failed(each)));
  const latencies = recent
    .filter(succeeded)
    .map(({ latencyMs }) => latencyMs)
    .toSorted((a, b) => a - b);
  return {
    ...pushState(pushes.flatMap(toFact), nowMs),
    lastSuccess: pushes.find(succeeded),
    lastFailure: pushes.find(failed),
    attempts: recent.length,
    successes: latencies.length,
    latencyMs: {
      p50: percentile(latencies, 50),
      p95: percentile(latencies, 95),
      p99: percentile(latencies, 99),
    },
  };
}

/**
 * Returns a list of one fact for an attempt, or for an event that was dropped because the bridge is too slow. Returns
 * an empty list for any other entry.
 */
function toFact({ result, atMs }: LoggedDelivery): readonly PushFact[] {
  if (result === "success") return [{ is: "accepted", atMs }];
  if (result === "overloaded") return [{ is: "overloaded", atMs }];
  return FAILED.has(result) ? [{ is: "failed", atMs }] : [];
}

/** Returns the smallest value that is at least as large as `p` percent of the values; 0 when there are no values. */
function percentile(ascending: readonly number[], p: number): number {
  return ascending[Math.max(0, Math.ceil((ascending.length * p) / 100) - 1)] ?? 0;
}
