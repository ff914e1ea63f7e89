import { FAILURES, isPoll, type LoggedDelivery } from "./delivery";

const HOUR_MS = 60 * 60 * 1000;

/** How pushing goes, by the attempts that are still logged. Latencies are ms, of successes. */
export interface PushHealth {
  readonly lastSuccess: LoggedDelivery | undefined;
  readonly lastFailure: LoggedDelivery | undefined;
  /** Attempts of the last hour, and how many of them succeeded. */
  readonly attempts: number;
  readonly successes: number;
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number };
}

const FAILED: ReadonlySet<string> = new Set(FAILURES);

/** @param deliveries newest first */
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

/** The smallest value that is not below `p` per cent of the values; 0 when there are none. */
function percentile(ascending: readonly number[], p: number): number {
  return ascending[Math.max(0, Math.ceil((ascending.length * p) / 100) - 1)] ?? 0;
}
