import { setImmediate as nextTurn } from "node:timers/promises";
import { REAL_TIMING } from "../../back-off";

/**
 * Returns a clock for the kit. The clock's pauses end immediately, and are recorded in `pauses`.
 * @param random the value of the kit's `random()`; 0 gives the shortest waits
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

/** Fakes `setTimeout`, and also `Date` if `now` is given, until `jest.useRealTimers()`. Sockets work as usual. */
export function fakeTimeouts(now?: number): void {
  const real = ["hrtime", "nextTick", "performance", "queueMicrotask"] as const;
  const others = ["setImmediate", "clearImmediate", "setInterval", "clearInterval"] as const;
  const date = now === undefined ? (["Date"] as const) : [];
  jest.useFakeTimers({ doNotFake: [...real, ...others, ...date], ...(now === undefined ? {} : { now }) });
}
