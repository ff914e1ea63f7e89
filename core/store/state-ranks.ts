import { WORKSPACE_STATES, type WorkspaceState } from "../../contract/workspace-states";

/**
 * The rank of each state in the index of workspaces by state. The more urgent a state is, the higher is its rank. Redis
 * stores ranks, so the rank of a state never changes. A new state can have a rank between the ranks of two other
 * states.
 */
export const STATE_RANKS: Readonly<Record<WorkspaceState, string>> = {
  failing: "80",
  degraded: "70",
  recovered: "60",
  idle: "50",
  healthy: "40",
  unused: "30",
  disconnected: "20",
  native: "10",
};

/** Returns the state that has this rank. Throws for an unknown rank. */
export function stateOfRank(rank: string): WorkspaceState {
  const state = WORKSPACE_STATES.find((each) => STATE_RANKS[each] === rank);
  if (state === undefined) throw new RangeError(`no state of a workspace has the rank ${rank}`);
  return state;
}
