import { createWaker } from "../domain/waker";
import type { Lease } from "../leases/lease";
import type { OperatorEventDrop } from "../ports/operator-outbox";
import { StoreUnavailable } from "../ports/store-faults";
import { OperatorSender, type OperatorSenderContext } from "./operator-sender";
import { OutageMails, type OutageMailsContext } from "./outage-mails";

export interface ShardWatchContext extends OperatorSenderContext, OutageMailsContext {
  /** Called when a workspace has stopped polling while events wait. */
  onFailing(workspaceId: string): void;
  /** Called when `count` unsent emails were dropped, because the outbox was full. */
  onMailsDropped(count: number): void;
  /** Called when `count` unsent operator events were dropped. */
  onOperatorEventsDropped(count: number, reason: OperatorEventDrop): void;
}

const LOOK_EVERY_MS = 1_000;

/**
 * Watches the poll workspaces of one shard while the shard's lease is held. Finds workspaces that have stopped
 * polling while events wait, and sends the emails in the outbox. Also starts to send the operator events in their
 * outbox, but does not wait until they are sent. If some are left when the work on the shard stops, the next holder of
 * the lease sends them.
 */
export async function watchShard(context: ShardWatchContext, lease: Lease): Promise<void> {
  const { shard, stopping } = lease;
  const operatorSender = new OperatorSender(context, lease);
  const outageMails = new OutageMails(context, lease);
  const waker = createWaker();
  stopping.addEventListener("abort", waker.wake, { once: true });
  while (!stopping.aborted) {
    try {
      const found = await context.pollWatch.findFailing(shard);
      const { workspaceIds, mails, mailsDropped, operatorEvents } = found;
      for (const workspaceId of workspaceIds) context.onFailing(workspaceId);
      if (mailsDropped > 0) context.onMailsDropped(mailsDropped);
      for (const reason of ["expired", "full"] as const) {
        const count = found.operatorEventsDropped[reason];
        if (count > 0) context.onOperatorEventsDropped(count, reason);
      }
      if (operatorEvents > 0) operatorSender.look();
      if (mails > 0) await outageMails.sendDue();
    } catch (error) {
      outageMails.readAgain();
      if (!(error instanceof StoreUnavailable)) context.report("watch", error);
    }
    await waker.wait(LOOK_EVERY_MS);
  }
}
