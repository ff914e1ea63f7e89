/** Counts the open lanes, the calls to core in progress, and the failed calls, for the metrics. */
export type LaneLoad = ReturnType<typeof createLaneLoad>;
/** The reason why a call to core failed. */
export type LaneFailure = keyof LaneLoad["failures"];

export function createLaneLoad() {
  return {
    /** Number of lanes that are open, and number of lanes opened so far. */
    open: 0,
    opened: 0,
    /** Number of calls in progress, and the total of their bytes. */
    calls: 0,
    bytes: 0,
    failures: { full: 0, "no-connection": 0, broken: 0, late: 0, "store-away": 0, "core-fault": 0 },
  };
}
