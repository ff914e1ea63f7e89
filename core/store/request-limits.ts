import type { Limits } from "../domain/contract";
import type { RequestLimits, RetryAfterSeconds } from "../ports/request-limits";
import { createBatch } from "./batch";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import { asList, asNumber } from "./reply";

const MICROSECONDS_PER_SECOND = 1_000_000;
const BATCH_MAX = 256;

/** Whole seconds, at least 1, that cover a wait in µs. */
export function retryAfterSeconds(waitUs: number): number {
  return Math.max(1, Math.ceil(waitUs / MICROSECONDS_PER_SECOND));
}

export function createRequestLimits(functions: Functions, keys: Keys, limits: Limits): RequestLimits {
  const admit = createBatch<string, { readonly waitUs: number }>({
    most: BATCH_MAX,
    async run(shard, addresses) {
      const args = [String(limits.address), ...addresses];
      const answers = await functions.call("admit", keys.prefix(shard), args, addresses.length);
      return asList(answers).map((waitUs) => ({ waitUs: asNumber(waitUs) }));
    },
  });
  return {
    async admitAddress(address): Promise<RetryAfterSeconds> {
      const { waitUs } = await admit(keys.shard(address), address);
      return waitUs === 0 ? undefined : retryAfterSeconds(waitUs);
    },
  };
}
