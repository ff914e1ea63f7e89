import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../ports/clock";
import type { Redis } from "./redis";
import { asList, asNumber } from "./reply";

const SAMPLE_EVERY_MS = 2_000;
/** A sample that took longer says too little about when Redis read its clock. */
const ROUND_TRIP_MAX_MS = 250;

/**
 * The service clock: Redis's, followed by every core, so that a core whose own
 * clock is wrong judges and stamps as the others do. Between samples it runs on
 * the monotonic clock, so steps of the machine's clock do not show.
 */
export interface RedisClock {
  readonly now: Clock;
  /** Takes a sample every two seconds until the signal; failures keep the last one. */
  follow(signal: AbortSignal): Promise<void>;
}

/** Takes a first sample. Throws when Redis does not answer. */
export async function createRedisClock(redis: Redis): Promise<RedisClock> {
  let offsetMs = await sample(redis);
  return {
    now: () => Math.floor(performance.now() + offsetMs),
    async follow(signal) {
      while (!signal.aborted) {
        const began = performance.now();
        const fresh = await sample(redis).catch(() => undefined);
        if (fresh !== undefined && performance.now() - began <= ROUND_TRIP_MAX_MS) offsetMs = fresh;
        await sleep(SAMPLE_EVERY_MS, undefined, { signal }).catch(() => undefined);
      }
    },
  };
}

/** How far Redis's clock, in ms since the epoch, is ahead of the monotonic clock. */
async function sample(redis: Redis): Promise<number> {
  const before = performance.now();
  const [seconds, microseconds] = asList(await redis.command("", ["TIME"]));
  const after = performance.now();
  return asNumber(seconds) * 1000 + asNumber(microseconds) / 1000 - (before + after) / 2;
}
