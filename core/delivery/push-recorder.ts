import type { PushQueue, PushRecord, Recorded } from "../ports/push-queue";
import { StoreUnavailable } from "../ports/store-unavailable";
import { AFTER_FAULT_MS, pause } from "./current-workspaces";
import type { Hold } from "./hold";

/** Outcomes that may wait to be recorded. */
const UNRECORDED_MAX = 1_000;

/** Records what became of the pushes of a shard. */
export interface PushRecorder {
  /** Whether so many outcomes wait to be recorded that nothing more is to be begun. */
  readonly isFull: boolean;
  /** Records, for as long as it takes and the lease is held; "lost" when it never was. */
  record(record: PushRecord): Promise<Recorded>;
}

/** @param onRoom called when the recorder is no longer full */
export function createPushRecorder(
  { pushQueue, report }: { readonly pushQueue: PushQueue; report(where: string, error: unknown): void },
  { shard, token, lost }: Hold,
  onRoom: () => void,
): PushRecorder {
  let unrecorded = 0;

  return {
    get isFull() {
      return unrecorded >= UNRECORDED_MAX;
    },
    async record(record) {
      unrecorded += 1;
      let recorded: Recorded = "lost";
      while (recorded === "lost" && !lost.aborted) {
        try {
          recorded = await pushQueue.record(token, shard, record);
        } catch (error) {
          if (!(error instanceof StoreUnavailable)) {
            report("record", error);
            break;
          }
        }
        // Until the hold is over, too, this may be a store that lost the lease: it is taken again, or found to be another's.
        if (recorded === "lost") await pause(AFTER_FAULT_MS);
      }
      unrecorded -= 1;
      if (unrecorded === UNRECORDED_MAX - 1) onRoom();
      return recorded;
    },
  };
}
