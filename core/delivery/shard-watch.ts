import { createBell } from "../domain/bell";
import type { Workspace } from "../domain/workspace";
import type { Mail, Mailer } from "../ports/mailer";
import type { OutageMail, PollWatch } from "../ports/poll-watch";
import { StoreUnavailable } from "../ports/store-unavailable";
import type { Workspaces } from "../ports/workspaces";
import type { Hold } from "./hold";

export interface ShardWatchContext {
  readonly pollWatch: PollWatch;
  readonly workspaces: Workspaces;
  readonly mailer: Mailer;
  /** Told when polling of a workspace has come to fail. */
  onFailing(workspaceId: string): void;
  /** Told when mail could not be sent; it stays in the outbox. */
  onMailFault(workspaceId: string, error: unknown): void;
  report(where: string, error: unknown): void;
}

const LOOK_EVERY_MS = 1_000;
const MAIL_AGAIN_MIN_MS = 1_000;
const MAIL_AGAIN_MAX_MS = 60_000;

/**
 * Watches the poll workspaces of one shard for as long as its lease is held:
 * finds those that have come to fail, and sends the mails of the outbox. A mail
 * leaves the outbox when the mail server has taken it on; until then it is tried
 * again, ever more slowly.
 */
export async function watchShard(context: ShardWatchContext, { shard, stopping, lost }: Hold): Promise<void> {
  const { pollWatch } = context;
  const bell = createBell();
  stopping.addEventListener("abort", bell.ring, { once: true });
  let mailAgainMs = MAIL_AGAIN_MIN_MS;
  let nextMailAt = 0;

  while (!stopping.aborted) {
    try {
      for (const workspaceId of await pollWatch.findFailing(shard)) context.onFailing(workspaceId);
      if (performance.now() >= nextMailAt) await sendMails();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) context.report("watch", error);
    }
    await bell.wait(LOOK_EVERY_MS);
  }

  async function sendMails(): Promise<void> {
    for (const outage of await pollWatch.readMail(shard)) {
      const record = await context.workspaces.read(outage.workspaceId);
      if (stopping.aborted || lost.aborted) return;
      const mail = record && compose(record.workspace, outage);
      try {
        if (mail !== undefined) await context.mailer.send(mail);
      } catch (error) {
        context.onMailFault(outage.workspaceId, error);
        nextMailAt = performance.now() + mailAgainMs;
        mailAgainMs = Math.min(MAIL_AGAIN_MAX_MS, mailAgainMs * 2);
        return;
      }
      mailAgainMs = MAIL_AGAIN_MIN_MS;
      await pollWatch.removeMail(shard, outage.entryId);
    }
  }
}

/** The mail to the owner, or undefined when nobody is to be told. */
function compose(workspace: Workspace, outage: OutageMail): Mail | undefined {
  if (workspace.ownerEmail === "") return undefined;
  const { name, id } = workspace;
  return {
    to: workspace.ownerEmail,
    subject: `The bridge of ${name} has stopped polling`,
    messageId: `outage-${id}-${outage.failingSinceMs}`,
    text: [
      `The bridge of the workspace ${name} (${id}) has not polled for 5 minutes while events wait for it.`,
      "",
      `Oldest event that waits: ${new Date(outage.oldestWaitingAtMs).toISOString()}`,
      "",
      "What to do: check that the bridge runs, reaches the service and signs its polls with the current secret.",
      "Events are held for 24 hours. The bridge counts as healthy again with its next poll, and you will not be",
      "written to again about this outage.",
      "",
    ].join("\n"),
  };
}
