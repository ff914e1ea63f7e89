import type { HealthState } from "./health-states";

/**
 * The states of a workspace in lists, most urgent first. If a workspace gets events, its state is the state of its
 * event delivery. JSON and the command line use these names. The enum `WorkspaceState` in the protos lists the same
 * states.
 */
export const WORKSPACE_STATES = [
  "failing",
  "degraded",
  "recovered",
  "idle",
  "healthy",
  "unused",
  "disconnected",
  "native",
] as const satisfies readonly (HealthState | "disconnected" | "native")[];
export type WorkspaceState = (typeof WORKSPACE_STATES)[number];

const LABELS: Readonly<Record<WorkspaceState, string>> = {
  failing: "Failing",
  degraded: "Degraded",
  recovered: "Recovered",
  idle: "Not polling",
  healthy: "Healthy",
  unused: "Never used",
  disconnected: "Disconnected",
  native: "No bridge",
};

/** Returns the display text of a state: one or two words. */
export function stateLabel(state: WorkspaceState): string {
  return LABELS[state];
}
