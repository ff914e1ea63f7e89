import { DEGRADED_FOR_MS, RECOVERED_FOR_MS, type HealthState } from "../../contract/health-states";
import { POLLED_LATELY_MS } from "../../contract/numbers";

/** The facts that determine the state of a poll workspace. Times are in ms; undefined means never. */
export interface PollFacts {
  readonly failingSinceMs: number | undefined;
  readonly lastPollAtMs: number | undefined;
  readonly recoveredAtMs: number | undefined;
  /** The number of waiting events. */
  readonly waiting: number;
}

export function pollState(facts: PollFacts, nowMs: number): HealthState {
  const { failingSinceMs, lastPollAtMs, recoveredAtMs, waiting } = facts;
  if (failingSinceMs !== undefined) return "failing";
  if (lastPollAtMs === undefined) return "unused";
  if (nowMs - lastPollAtMs > POLLED_LATELY_MS) return waiting > 0 ? "degraded" : "idle";
  return goodState(recoveredAtMs, nowMs);
}

/** Returns the state of a workspace that has no fault now. */
function goodState(recoveredAtMs = -Infinity, nowMs: number): HealthState {
  return nowMs - recoveredAtMs < RECOVERED_FOR_MS ? "recovered" : "healthy";
}

/** An attempt to push, or the drop of an event because its bridge is too slow. */
export interface PushFact {
  readonly is: "accepted" | "failed" | "overloaded";
  readonly atMs: number;
}

/**
 * Returns the state of a push workspace, and the time of the first accepted attempt after the last failure. The time is
 * undefined while the last attempt is a failure, and when no failure is logged.
 *
 * @param facts the attempts and drops in the log, newest first
 */
export function pushState(
  facts: readonly PushFact[],
  nowMs: number,
): { readonly state: HealthState; readonly recoveredAtMs: number | undefined } {
  const attempts = facts.filter(({ is }) => is !== "overloaded");
  const failedAt = attempts.findIndex(({ is }) => is === "failed");
  const recoveredAtMs = attempts[failedAt - 1]?.atMs;
  const failedAtMs = attempts[failedAt]?.atMs ?? -Infinity;
  if (attempts.length === 0) return { state: "unused", recoveredAtMs };
  if (failedAt === 0) return { state: "failing", recoveredAtMs };
  const recent = facts.filter(({ atMs }) => nowMs - atMs < DEGRADED_FOR_MS);
  const isTooSlow = recent.some(({ is, atMs }) => is === "overloaded" && atMs > failedAtMs);
  if (isTooSlow || hasFailedAgain(recent)) return { state: "degraded", recoveredAtMs };
  return { state: goodState(recoveredAtMs, nowMs), recoveredAtMs };
}

/** Whether an attempt was accepted between two failures. */
function hasFailedAgain(facts: readonly PushFact[]): boolean {
  const attempts = facts.filter(({ is }) => is !== "overloaded").map(({ is }) => is);
  const last = attempts.indexOf("failed");
  const between = attempts.indexOf("accepted", last + 1);
  return last !== -1 && between !== -1 && attempts.includes("failed", between);
}
