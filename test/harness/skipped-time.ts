import { setImmediate as nextTurn } from "node:timers/promises";
import { REAL_TIMING, type Timing } from "../../bridge/back-off";

/** A clock for the kit whose pauses pass at once: what is waited for is over, and is on record. */
export interface SkippedTime extends Timing {
  /** Every pause so far, in ms. */
  readonly pauses: readonly number[];
}

/** @param random what the kit's dice show, 0 by default: waits are then the shortest that they can be */
export function skipTime(random = 0): SkippedTime {
  const pauses: number[] = [];
  let skippedMs = 0;
  return {
    ...REAL_TIMING,
    pauses,
    now: () => Date.now() + skippedMs,
    random: () => random,
    async pause(ms) {
      pauses.push(ms);
      skippedMs += ms;
      await nextTurn();
    },
  };
}
