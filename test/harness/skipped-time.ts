import { setImmediate as nextTurn } from "node:timers/promises";
import { REAL_TIMING, type Timing } from "../../bridge/back-off";

/** A clock for the kit whose pauses are over at once and are on record. */
export interface SkippedTime extends Timing {
  readonly pauses: readonly number[];
}

/** @param random what the kit's random() answers; 0 makes waits as short as they can be */
export function skipTime(random = 0, startMs: () => number = Date.now): SkippedTime {
  const pauses: number[] = [];
  let skippedMs = 0;
  return {
    ...REAL_TIMING,
    pauses,
    now: () => startMs() + skippedMs,
    random: () => random,
    async pause(ms) {
      pauses.push(ms);
      skippedMs += ms;
      await nextTurn();
    },
  };
}

/** Fakes `setTimeout`, and `Date` too where `now` is given, until `jest.useRealTimers()`: sockets stay real. */
export function fakeTimeouts(now?: number): void {
  const real = ["hrtime", "nextTick", "performance", "queueMicrotask"] as const;
  const others = ["setImmediate", "clearImmediate", "setInterval", "clearInterval"] as const;
  const date = now === undefined ? (["Date"] as const) : [];
  jest.useFakeTimers({ doNotFake: [...real, ...others, ...date], ...(now === undefined ? {} : { now }) });
}
