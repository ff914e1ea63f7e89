import { FAILING_AFTER_MS, HELD_SECONDS } from "../../contract/numbers";
import { createWaker } from "../domain/waker";
import type { Workspace } from "../domain/workspace";
import { MailRefused, type Mail, type Mailer } from "../ports/outside";
import type { OperatorEventDrop } from "../ports/operator-outbox";
import type { OutageMail, PollWatch } from "../ports/poll-watch";
import { StoreUnavailable } from "../ports/store-faults";
import type { Lease } from "../leases/lease";
import { isOver, nextRest, type Rest } from "./growing-rest";
import { createOperatorSender, type OperatorSenderContext } from "./operator-sender";

export interface ShardWatchContext extends OperatorSenderContext {
  readonly pollWatch: PollWatch;
  readonly mailer: Mailer;
  /** Called when a workspace has stopped polling while events wait. */
  onFailing(workspaceId: string): void;
  /** Called when an email could not be sent. The email stays in the outbox. */
  onMailFault(workspaceId: string, error: unknown): void;
  /** Called when an email left the outbox unsent, because the mail server permanently rejected the email. */
  onMailRefused(workspaceId: string, error: unknown): void;
  /** Called when `count` emails left the outbox unsent, because the outbox was full. */
  onMailsDropped(count: number): void;
  /** Called when `count` operator events left the outbox unsent. */
  onOperatorEventsDropped(count: number, reason: OperatorEventDrop): void;
}

const LOOK_EVERY_MS = 1_000;
/** Maximum number of emails that are retried in one round, so that the next check of the shard is not delayed. */
const RESTED_MAX = 10;

/** An email that was not accepted and waits for a retry. */
interface Resting {
  readonly outage: OutageMail;
  readonly rest: Rest;
}

/**
 * Watches the poll workspaces of one shard while the shard's lease is held. Finds workspaces that have stopped
 * polling while events wait, and sends the emails in the outbox. An email leaves the outbox when the mail
 * server has accepted it or permanently rejected it. Any other email is retried with growing pauses. New emails
 * are sent before retries. Also begins to send the operator events in their outbox, and does not wait for them: the
 * next holder of the lease sends the events that are still in the outbox when the work on the shard stops.
 */
export async function watchShard(context: ShardWatchContext, lease: Lease): Promise<void> {
  const { shard, stopping } = lease;
  const { pollWatch } = context;
  const operatorSender = createOperatorSender(context, lease);
  const waker = createWaker();
  stopping.addEventListener("abort", waker.wake, { once: true });
  /** The pause after a failure that may concern all emails. */
  let mailRest: Rest | undefined;
  /**
   * The entry id of the newest email that core has tried to send. Earlier emails that are still in the outbox wait
   * for a retry.
   */
  let tried: string | undefined;
  const resting = new Map<string, Resting>();

  while (!stopping.aborted) {
    try {
      const found = await pollWatch.findFailing(shard);
      const { workspaceIds, mails, mailsDropped, operatorEvents } = found;
      for (const workspaceId of workspaceIds) context.onFailing(workspaceId);
      if (mailsDropped > 0) context.onMailsDropped(mailsDropped);
      for (const reason of ["expired", "full"] as const) {
        const count = found.operatorEventsDropped[reason];
        if (count > 0) context.onOperatorEventsDropped(count, reason);
      }
      if (operatorEvents > 0) operatorSender.look();
      if (mails > 0 && isOver(mailRest)) await sendMails();
    } catch (error) {
      // After a failover, the clock of Redis may be behind, and new emails may precede `tried`. So the next
      // read starts at the beginning of the outbox.
      tried = undefined;
      if (!(error instanceof StoreUnavailable)) context.report("watch", error);
    }
    await waker.wait(LOOK_EVERY_MS);
  }

  async function sendMails(): Promise<void> {
    for (const outage of await pollWatch.readMail(shard, tried)) {
      const became = resting.has(outage.entryId) ? "handled" : await send(outage);
      if (became === "not-begun") return;
      tried = outage.entryId;
      if (became === "unavailable") return;
    }
    const rested = [...resting.values()].filter(({ rest }) => isOver(rest));
    for (const { outage } of rested.slice(0, RESTED_MAX)) if ((await send(outage)) !== "handled") return;
  }

  /**
   * Sends one email. If the result is "unavailable" (no mail server) or "not-begun" (no lease), the caller must
   * send no more emails in this round.
   */
  async function send(outage: OutageMail): Promise<"handled" | "unavailable" | "not-begun"> {
    const { workspaceId, entryId } = outage;
    let refusal: MailRefused | undefined;
    try {
      const workspace = await readWorkspace(workspaceId);
      if (stopping.aborted || lease.isOver()) return "not-begun";
      const mail = workspace && compose(workspace, outage);
      if (mail !== undefined) await context.mailer.send(mail);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      if (!(error instanceof MailRefused)) {
        mailRest = nextRest(mailRest);
        // This email may have caused the error. The email waits for a retry, so that it cannot delay other emails
        // forever.
        keep(outage);
        context.onMailFault(workspaceId, error);
        return "unavailable";
      }
      refusal = error;
    }
    mailRest = undefined;
    if (refusal?.isForGood === false) {
      keep(outage);
      context.onMailFault(workspaceId, refusal.cause);
      return "handled";
    }
    await pollWatch.removeMail(shard, entryId);
    resting.delete(entryId);
    if (refusal !== undefined) context.onMailRefused(workspaceId, refusal.cause);
    return "handled";
  }

  /**
   * Reads a workspace. Throws `StoreUnavailable`, or `MailRefused` for any other error, e.g. if the record is damaged.
   * `MailRefused` delays only the emails of this workspace.
   */
  async function readWorkspace(id: string): Promise<Workspace | undefined> {
    try {
      return (await context.workspaces.read(id))?.workspace;
    } catch (error) {
      throw error instanceof StoreUnavailable ? error : new MailRefused(false, error);
    }
  }

  function keep(outage: OutageMail): void {
    const rest = nextRest(resting.get(outage.entryId)?.rest);
    // The email is deleted from the map first, so that `set` adds it at the end.
    resting.delete(outage.entryId);
    resting.set(outage.entryId, { outage, rest });
  }
}

/** Composes the email to the owner. Returns undefined when the workspace has no `ownerEmail`. */
function compose(workspace: Workspace, outage: OutageMail): Mail | undefined {
  if (workspace.ownerEmail === "") return undefined;
  const { name, id } = workspace;
  return {
    to: workspace.ownerEmail,
    subject: `The bridge of ${name} has stopped polling`,
    messageId: `outage-${id}-${outage.failingSinceMs}`,
    text: [
      `The bridge of the workspace ${name} (${id}) has not polled for ${FAILING_AFTER_MS / 60_000} minutes, although events are waiting.`,
      "",
      `Oldest waiting event: ${new Date(outage.oldestWaitingAtMs).toISOString()}`,
      "",
      "What to do: check that the bridge is running, can reach the service, and signs its polls with the current secret.",
      `Events are held for ${HELD_SECONDS / 3_600} hours. The bridge counts as healthy again after its next poll. You will not receive`,
      "another email about this outage.",
      "",
    ].join("\n"),
  };
}
