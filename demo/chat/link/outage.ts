import { REAL_TIMING, type Timing } from "../../../kit/back-off";

/**
 * Returns the `Timing` for a sender. A wait that begins while the network is cut ends as soon as the network is
 * restored.
 */
export function createOutage(clock: Timing = REAL_TIMING) {
  /** Resolves when the network is restored; undefined while the network is not cut. */
  let restored: Promise<void> | undefined;
  let restore = (): void => undefined;
  const timing: Timing = {
    ...clock,
    // Only waits that begin while the network is cut are shortened. No answers arrive while the network is cut, so a
    // wait that an answer demands, e.g. with `Retry-After`, is never shortened.
    pause: (ms, signal) => {
      const pause = clock.pause(ms, signal);
      return restored === undefined ? pause : Promise.race([pause, restored]);
    },
  };
  return {
    timing,
    begin(): void {
      restored = new Promise((resolve) => (restore = resolve));
    },
    end(): void {
      restored = undefined;
      restore();
    },
  };
}
