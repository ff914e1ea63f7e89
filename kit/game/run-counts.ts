/** The counters of a run since its start. The metrics of a game contain them. */
export interface RunCounts {
  /** Events whose handler has ended without an error. */
  handled: number;
  /** Events without a handler in the game. */
  ignored: number;
  /** Events that are older than `maxEventAge`. */
  tooOld: number;
  /** Presses of this game's buttons that have no handler, or an invalid payload. */
  invalidPresses: number;
  /** Errors of handlers. */
  failed: number;
  deadLettered: number;
  timersRun: number;
  /** Timers that were dropped after errors. */
  timersDropped: number;
  published: number;
  /** Events that core has refused, except as stale. */
  refused: number;
  /** Events that core has refused because another process has taken over their work. */
  stale: number;
  droppedUpdates: number;
  /** Saves that failed because another process had saved the document first. */
  conflicts: number;
  /** Failures of the store, or of publishing. */
  outages: number;
}

export function zeroCounts(): RunCounts {
  return {
    handled: 0,
    ignored: 0,
    tooOld: 0,
    invalidPresses: 0,
    failed: 0,
    deadLettered: 0,
    timersRun: 0,
    timersDropped: 0,
    published: 0,
    refused: 0,
    stale: 0,
    droppedUpdates: 0,
    conflicts: 0,
    outages: 0,
  };
}
