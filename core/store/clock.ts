import { setTimeout as sleep } from "node:timers/promises";
import type { Redis } from "./redis/redis";
import { asList, asNumber } from "./redis/reply";

const SAMPLE_EVERY_MS = 2_000;
/** A sample with a longer round trip is ignored, because the moment when Redis read its clock is too uncertain. */
const ROUND_TRIP_MAX_MS = 250;

/**
 * Creates the service clock. Every core follows the clock of Redis, so all cores agree even when a machine's clock is
 * wrong (clock skew). Between two samples, the service clock runs on the monotonic clock, so steps of the machine's
 * clock have no effect. Throws StoreUnavailable when Redis does not answer.
 */
export async function createRedisClock(redis: Redis) {
  let offsetMs = await sample(redis);
  return {
    now: (): number => Math.floor(performance.now() + offsetMs),
    /**
     * Samples the clock of Redis every two seconds until the signal is aborted. If a sample fails, the offset is
     * unchanged.
     */
    async follow(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const began = performance.now();
        const fresh = await sample(redis).catch(() => undefined);
        if (fresh !== undefined && performance.now() - began <= ROUND_TRIP_MAX_MS) offsetMs = fresh;
        await sleep(SAMPLE_EVERY_MS, undefined, { signal }).catch(() => undefined);
      }
    },
  };
}

/** Returns the time of Redis's clock, in ms since the epoch, minus the time of the monotonic clock. */
async function sample(redis: Redis): Promise<number> {
  const before = performance.now();
  const [seconds, microseconds] = asList(await redis.command("", ["TIME"]));
  const after = performance.now();
  return asNumber(seconds) * 1000 + asNumber(microseconds) / 1000 - (before + after) / 2;
}
