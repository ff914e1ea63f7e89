import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { createOutageLog, oncePerMinute } from "../runtime/outage-log";
import { redisFault, replyFault } from "./store/redis/fault-words";

const LOOK_EVERY_MS = 500;

/**
 * Logs when Redis is unavailable, with the reason, and when Redis is available again. Connection errors count as an
 * outage only if calls fail too. With Sentinel or a cluster, core may not need a connection to the server that failed.
 *
 * This file only logs. `core/store/redis/connection.ts` connects again, with a back-off of at most 500 ms. Calls in
 * progress fail with `StoreUnavailable`, and core does not send them again.
 */
export function createRedisWatch(log: Logger) {
  const over = new AbortController();
  const outages = createOutageLog({
    log,
    level: "error",
    lost: "Redis is unavailable: core retries; check that Redis runs, and check REDIS_URL",
    back: "Redis is available again",
  });
  const isMinor = oncePerMinute();
  let probe: (() => Promise<undefined>) | undefined;
  let reason = "";
  let isLooking = false;

  /**
   * Returns why a call failed. The error of a call says only that the connection is lost. The connection's own error
   * contains the reason.
   */
  function whyFailed(error: unknown): string {
    return replyFault(error) ?? reason;
  }

  async function look(): Promise<void> {
    if (isLooking || probe === undefined) return;
    isLooking = true;
    let fault = await probe().catch(whyFailed);
    if (fault === undefined && !over.signal.aborted && isMinor(reason)) {
      log.warn({ reason }, "a connection to Redis failed, but calls succeed: core connects again");
    }
    while (fault !== undefined && !over.signal.aborted) {
      outages.failed(fault);
      await sleep(LOOK_EVERY_MS, undefined, { signal: over.signal }).catch(() => undefined);
      fault = await probe().catch(whyFailed);
    }
    if (!over.signal.aborted) outages.works();
    isLooking = false;
  }

  return {
    /** Must be called with each error of a connection, and with each error of a call while the store is being opened. */
    onError(error: unknown): void {
      if (over.signal.aborted) return;
      reason = redisFault(error);
      if (probe === undefined) outages.failed(reason);
      else void look();
    },
    /** Must be called when the store is open. `call` makes a call to Redis, and rejects if the call fails. */
    begin(call: () => Promise<void>): void {
      probe = () => call().then(() => undefined);
      outages.works();
    },
    stop: () => over.abort(),
  };
}
