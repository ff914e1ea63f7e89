import { setTimeout as sleep } from "node:timers/promises";
import { LastingFault } from "../runtime/run-process";
import { UnfitStore } from "./store/mark";

const LOOK_EVERY_MS = 1_000;

/**
 * Watches the mark of the store while core runs. The mark changes when somebody restores a backup of another format, or
 * migrates the data to another format. After such a change, core must not read or write anything.
 *
 * @param checkMark throws `UnfitStore` when this release cannot use the store
 */
export function watchMark(checkMark: () => Promise<void>) {
  const over = new AbortController();

  async function find(): Promise<LastingFault> {
    for (;;) {
      await sleep(LOOK_EVERY_MS, undefined, { signal: over.signal });
      try {
        await checkMark();
      } catch (error) {
        if (error instanceof UnfitStore) return new LastingFault(`stopping at once: ${error.message}`);
        // Any other error is an outage of Redis, which `createRedisWatch` logs.
      }
    }
  }

  const failed = new Promise<LastingFault>((resolve) => {
    // `find` rejects only when `stop` aborts its wait.
    void find().then(resolve, () => undefined);
  });
  return { failed, stop: () => over.abort() };
}
