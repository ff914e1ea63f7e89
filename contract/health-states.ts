/**
 * The states of a workspace's event delivery, which docs/deliveries.md defines. JSON uses these names. The enum
 * `HealthState` in the protos lists the same states.
 */
export const HEALTH_STATES = ["unused", "idle", "healthy", "recovered", "degraded", "failing"] as const;
export type HealthState = (typeof HEALTH_STATES)[number];

/** Milliseconds for which a workspace is `recovered` after an outage. */
export const RECOVERED_FOR_MS = 60 * 60_000;
/** Milliseconds for which repeated failures and dropped events make a push workspace `degraded`. */
export const DEGRADED_FOR_MS = 5 * 60_000;

const LABELS: Readonly<Record<HealthState, string>> = {
  unused: "Nothing pushed",
  idle: "Not polling",
  healthy: "Healthy",
  recovered: "Recovered",
  degraded: "Degraded",
  failing: "Failing",
};

/** Returns the display text of a state: one or two words. */
export function healthLabel(state: HealthState, mode: "poll" | "push"): string {
  return state === "unused" && mode === "poll" ? "Never polled" : LABELS[state];
}
