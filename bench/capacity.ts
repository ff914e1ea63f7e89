import { CheckFault } from "./part";

/**
 * Minimum share of the requests that must be answered in time. Below this share, the service does not keep up with the
 * load.
 */
const KEPT_UP = 0.9;
/** Maximum number of steps of a search. The last step sends 2^9 times as many requests as the first. */
const STEPS_MAX = 10;
/** Seconds of each step of a search. */
const STEP_SECONDS = 3;

/** Share of the capacity at which latencies are measured. */
export const MEASURED_SHARE = 0.5;
/**
 * Seconds of load at `MEASURED_SHARE` that do not count, because the service is still recovering from the search's
 * overload.
 */
export const AFTER_SEARCH_SECONDS = 3;

/**
 * Finds the capacity of this machine for a load: doubles the rate until the service answers more slowly than requests
 * are due. Returns the highest rate of answers. As in the measurements, the load generator runs on the same machine.
 *
 * @param send sends requests at a rate, in requests per second, and resolves with the number of requests when all are
 * answered
 */
export async function findCapacity(
  firstRate: number,
  send: (rate: number, seconds: number) => Promise<number>,
): Promise<number> {
  let capacity = 0;
  for (let rate = firstRate, step = 0; step < STEPS_MAX; rate *= 2, step++) {
    const began = performance.now();
    const count = await send(rate, STEP_SECONDS);
    const answered = (count * 1000) / (performance.now() - began);
    capacity = Math.max(capacity, answered);
    if (answered < rate * KEPT_UP) return capacity;
  }
  throw new CheckFault("the service keeps up with every rate: the search for its capacity must start higher");
}
