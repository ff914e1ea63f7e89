import { setImmediate as nextTurn } from "node:timers/promises";
import { REAL_TIMING } from "../../bridge/back-off";

/**
 * A clock for the kit whose pauses are over at once and are on record.
 * @param random what the kit's random() answers; 0 makes waits as short as they can be
 */
export function skipTime(random = 0, startMs: () => number = Date.now) {
  const pauses: number[] = [];
  let skippedMs = 0;
  return {
    ...REAL_TIMING,
    pauses: pauses as readonly number[],
    now: () => startMs() + skippedMs,
    random: () => random,
    async pause(ms: number, _signal?: AbortSignal) {
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
