import { backOffMs, REAL_TIMING } from "../../../bridge/back-off";

const BOUNDS = { firstMs: 100, mostMs: 5_000 };

/** Waits longer from failure to failure. */
export interface BackOff {
  /** Resolves when it is time to try again, or at once when the signal is aborted. */
  wait(signal: AbortSignal): Promise<void>;
  /** Begins anew: it worked. */
  reset(): void;
}

export function createBackOff(): BackOff {
  let failures = 0;
  return {
    wait: (signal) => REAL_TIMING.pause(backOffMs(++failures, BOUNDS, REAL_TIMING.random()), signal),
    reset() {
      failures = 0;
    },
  };
}
