import { FAILURES } from "../../contract/deliveries";
import { isPoll, type LoggedDelivery } from "./delivery";

const HOUR_MS = 60 * 60 * 1000;

/** The health of pushing, computed from the attempts that are still logged. Latencies are those of successes, in ms. */
export interface PushHealth {
  readonly lastSuccess: LoggedDelivery | undefined;
  readonly lastFailure: LoggedDelivery | undefined;
  /** The attempts of the last hour, and the successful ones among them. */
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

/** Returns the smallest value that is at least as large as `p` percent of the values; 0 when there are none. */
function percentile(ascending: readonly number[], p: number): number {
  return ascending[Math.max(0, Math.ceil((ascending.length * p) / 100) - 1)] ?? 0;
}
