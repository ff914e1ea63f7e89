import type { PushQueue, PushRecord, Recorded } from "../ports/push-queue";
import { StoreUnavailable } from "../ports/store-faults";
import { AFTER_FAULT_MS, pause } from "./current-workspaces";
import type { Lease } from "../leases/lease";

/** Core begins no first attempts while this many outcomes wait to be recorded. */
const UNRECORDED_MAX = 1_000;

/**
 * Records the outcomes of the pushes of a shard.
 *
 * @param onRoom called when the recorder is no longer full
 */
export function createPushRecorder(
  { pushQueue, report }: { readonly pushQueue: PushQueue; report(where: string, error: unknown): void },
  { shard, token, over }: Lease,
  onRoom: () => void,
) {
  let unrecorded = 0;

  return {
    /** Whether too many outcomes wait to be recorded. If so, no first attempt should begin. */
    get isFull() {
      return unrecorded >= UNRECORDED_MAX;
    },
    /**
     * Records an outcome, and retries until the outcome is recorded or the lease is lost. Resolves with "lost" if the
     * outcome was not recorded.
     */
    async record(record: PushRecord): Promise<Recorded> {
      unrecorded += 1;
      let recorded: Recorded = "lost";
      while (recorded === "lost" && !over.aborted) {
        try {
          recorded = await pushQueue.record(token, shard, record);
        } catch (error) {
          if (!(error instanceof StoreUnavailable)) {
            report("record", error);
            break;
          }
        }
        // Redis may have lost the lease, although this core still counts the lease as held. So core retries until
        // the lease is acquired again, or `over` is aborted.
        if (recorded === "lost") await pause(AFTER_FAULT_MS);
      }
      unrecorded -= 1;
      if (unrecorded === UNRECORDED_MAX - 1) onRoom();
      return recorded;
    },
  };
}
