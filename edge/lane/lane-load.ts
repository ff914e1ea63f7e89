/** Why a call to core got no answer. */
export type LaneFailure = "full" | "no-connection" | "broken" | "late" | "store-away" | "core-fault";

/** Counts of calls to core in progress, and of failures. They are the source of the metrics. */
export interface LaneLoad {
  /** Open streams, and streams opened so far. */
  open: number;
  opened: number;
  /** Calls in progress, and their bytes. */
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
