/** Why calls of core got no answer. */
export type LaneFailure = "full" | "no-connection" | "broken" | "late" | "store-away" | "core-fault";

/** What is under way to core, and what went wrong: plain numbers, for whoever watches the service. */
export interface LaneLoad {
  /** Streams that are open, and how many were opened so far. */
  open: number;
  opened: number;
  /** Calls that are under way, and their bytes. */
  calls: number;
  bytes: number;
  readonly failures: Record<LaneFailure, number>;
}

export function createLaneLoad(): LaneLoad {
  return {
    open: 0,
    opened: 0,
    calls: 0,
    bytes: 0,
    failures: { full: 0, "no-connection": 0, broken: 0, late: 0, "store-away": 0, "core-fault": 0 },
  };
}
