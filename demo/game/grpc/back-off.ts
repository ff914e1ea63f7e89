import { backOffMs, REAL_TIMING } from "../../../bridge/back-off";

const BOUNDS = { firstMs: 100, mostMs: 5_000 };

/** Pauses between retries, longer after each failure. */
export interface BackOff {
  /** Resolves when the next retry is due, or when the signal is aborted. */
  wait(signal: AbortSignal): Promise<void>;
  /** Makes the next pause the shortest again; call it after a success. */
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
