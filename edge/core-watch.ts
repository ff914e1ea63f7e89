import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { createOutageLog } from "../runtime/outage-log";
import { CoreRefusesToken } from "./lane/core-unavailable";

const LOOK_EVERY_MS = 500;
/** Milliseconds after the start until the edge logs a warning that core is still unavailable. */
const QUIET_MS = 3_000;

export interface CoreWatchOptions {
  readonly log: Logger;
  /** The gRPC target of core. */
  readonly address: string;
  /** Rejects if core is unavailable; if core rejects the token, the error is a `CoreRefusesToken`. */
  probe(): Promise<void>;
  /** Called once, when core first accepts the token. */
  onReady(): void;
}

/**
 * Watches whether core is available, and logs when this changes. A rejected token is not logged here, because the lanes
 * already log this error. Returns a function that stops the watch.
 */
export function watchCore({ log, address, probe, onReady }: CoreWatchOptions): () => Promise<void> {
  const over = new AbortController();
  const began = performance.now();
  let wasReady = false;
  const outages = createOutageLog({
    log,
    level: "warn",
    lost: "core is unavailable: requests are answered with 503; check that core runs, and check CORE_ADDRESS",
    back: "core is available again",
    facts: { address },
  });

  async function look(): Promise<void> {
    try {
      await probe();
    } catch (error) {
      if (over.signal.aborted || error instanceof CoreRefusesToken) return;
      if (wasReady || performance.now() - began >= QUIET_MS) outages.failed((error as Error).message);
      return;
    }
    if (over.signal.aborted) return;
    outages.works();
    if (!wasReady) onReady();
    wasReady = true;
  }

  const watching = (async () => {
    while (!over.signal.aborted) {
      await look();
      await sleep(LOOK_EVERY_MS, undefined, { signal: over.signal }).catch(() => undefined);
    }
  })();

  return async () => {
    over.abort();
    await watching;
  };
}
