import { createWaker } from "../domain/waker";
import type { Lease } from "../leases/lease";
import type { InboundLog } from "../ports/inbound-log";
import { StoreUnavailable } from "../ports/store-faults";

export interface ShardTidyContext {
  readonly inboundLog: InboundLog;
  report(where: string, error: unknown): void;
}

const TIDY_EVERY_MS = 1_000;

/**
 * Removes the events that are no longer needed in the inbound log of one shard, every second while the shard's lease is
 * held. This frees the memory of acked events even if no bridge sends anything, and even while Redis is full.
 */
export async function tidyShard(
  { inboundLog, report }: ShardTidyContext,
  { shard, stopping }: Lease,
): Promise<void> {
  const waker = createWaker();
  stopping.addEventListener("abort", waker.wake, { once: true });
  while (!stopping.aborted) {
    try {
      await inboundLog.tidy(shard);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) report("tidy", error);
    }
    await waker.wait(TIDY_EVERY_MS);
  }
}
