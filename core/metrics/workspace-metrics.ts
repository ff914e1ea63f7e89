import { WORKSPACE_STATES } from "../../contract/workspace-states";
import type { Metrics } from "../../runtime/metrics";
import type { StateCounts, WorkspaceStates } from "../ports/workspace-states";

interface WorkspaceSources {
  readonly workspaceStates: Pick<WorkspaceStates, "countShard">;
  /** The shards that this core holds. Each shard is held by one core, so all cores together count each workspace once. */
  heldShards(): readonly number[];
}

/**
 * Adds the number of workspaces in each state. The workspaces of the held shards are counted once per scrape. If Redis
 * does not answer, or has not counted the workspaces of a shard yet, the metric has no value.
 */
export function addWorkspaceMetrics({ gauge, beforeReading }: Metrics) {
  let sources: WorkspaceSources | undefined;
  let found: readonly StateCounts[] | undefined;
  beforeReading(async () => {
    found = undefined;
    const { workspaceStates, heldShards } = sources ?? {};
    const held = heldShards?.() ?? [];
    if (workspaceStates === undefined || held.length === 0) return;
    const counts = await Promise.all(held.map((shard) => workspaceStates.countShard(shard)));
    if (counts.every((each) => each !== undefined)) found = counts;
  });
  gauge("chatbridge_core_workspaces", "Workspaces of the held shards, by state.", () => {
    const counts = found;
    return counts && WORKSPACE_STATES.map((state) => ({ labels: { state }, value: sumOf(counts, state) }));
  });
  return { begin: (given: WorkspaceSources) => void (sources = given) };
}

function sumOf(counts: readonly StateCounts[], state: keyof StateCounts): number {
  return counts.reduce((sum, each) => sum + each[state], 0);
}
