import { createBell } from "../domain/bell";
import type { Workspace } from "../domain/workspace";
import { MailRefused, type Mail, type Mailer } from "../ports/mailer";
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
  /** Told when mail left the outbox unsent, as the mail server refused it for good. */
  onMailRefused(workspaceId: string, error: unknown): void;
  /** Told when so many mails left the outbox unsent, as it was full. */
  onMailsDropped(count: number): void;
  report(where: string, error: unknown): void;
}

const LOOK_EVERY_MS = 1_000;
const MAIL_AGAIN_MIN_MS = 1_000;
const MAIL_AGAIN_MAX_MS = 60_000;
/** Mails that are tried again in one round; the next look at the shard is not to wait for more. */
const RESTED_MAX = 10;

/** A mail that was not taken on, until it is tried again. */
interface Resting {
  readonly outage: OutageMail;
  readonly restMs: number;
  readonly until: number;
}

/**
 * Watches the poll workspaces of one shard for as long as its lease is held:
 * finds those that have come to fail, and sends the mails of the outbox. A mail
 * leaves the outbox when the mail server has taken it on or refused it for good;
 * until then it is tried again, ever more slowly, after those that were not tried yet.
 */
export async function watchShard(
  context: ShardWatchContext,
  { shard, stopping, isOver }: Hold,
): Promise<void> {
  const { pollWatch } = context;
  const bell = createBell();
  stopping.addEventListener("abort", bell.ring, { once: true });
  let mailAgainMs = MAIL_AGAIN_MIN_MS;
  let nextMailAt = 0;
  /** The last mail that was tried; those up to it that are still in the outbox rest. */
  let tried: string | undefined;
  const resting = new Map<string, Resting>();

  while (!stopping.aborted) {
    try {
      const { workspaceIds, mails, mailsDropped } = await pollWatch.findFailing(shard);
      for (const workspaceId of workspaceIds) context.onFailing(workspaceId);
      if (mailsDropped > 0) context.onMailsDropped(mailsDropped);
      if (mails > 0 && performance.now() >= nextMailAt) await sendMails();
    } catch (error) {
      // From the beginning: a store that took over may have a clock behind, and new mails before the last one tried.
      tried = undefined;
      if (!(error instanceof StoreUnavailable)) context.report("watch", error);
    }
    await bell.wait(LOOK_EVERY_MS);
  }

  async function sendMails(): Promise<void> {
    for (const outage of await pollWatch.readMail(shard, tried)) {
      const became = resting.has(outage.entryId) ? "seen-to" : await send(outage);
      if (became === "not-begun") return;
      tried = outage.entryId;
      if (became === "away") return;
    }
    const rested = [...resting.values()].filter(({ until }) => performance.now() >= until);
    for (const { outage } of rested.slice(0, RESTED_MAX)) if ((await send(outage)) !== "seen-to") return;
  }

  /** No other is to be tried now when the mail server is away, or the shard may be another's. */
  async function send(outage: OutageMail): Promise<"seen-to" | "away" | "not-begun"> {
    const { workspaceId, entryId } = outage;
    let refusal: MailRefused | undefined;
    try {
      const workspace = await readWorkspace(workspaceId);
      if (stopping.aborted || isOver()) return "not-begun";
      const mail = workspace && compose(workspace, outage);
      if (mail !== undefined) await context.mailer.send(mail);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      if (!(error instanceof MailRefused)) {
        nextMailAt = performance.now() + mailAgainMs;
        mailAgainMs = slower(mailAgainMs);
        // An error that only seems to be the server's does not keep the others waiting for ever.
        rest(outage);
        context.onMailFault(workspaceId, error);
        return "away";
      }
      refusal = error;
    }
    mailAgainMs = MAIL_AGAIN_MIN_MS;
    if (refusal?.isForGood === false) {
      rest(outage);
      context.onMailFault(workspaceId, refusal.cause);
      return "seen-to";
    }
    await pollWatch.removeMail(shard, entryId);
    resting.delete(entryId);
    if (refusal !== undefined) context.onMailRefused(workspaceId, refusal.cause);
    return "seen-to";
  }

  /** One that cannot be read, such as for a lost key, is the trouble of its own mail alone. */
  async function readWorkspace(id: string): Promise<Workspace | undefined> {
    try {
      return (await context.workspaces.read(id))?.workspace;
    } catch (error) {
      throw error instanceof StoreUnavailable ? error : new MailRefused(false, error);
    }
  }

  function rest(outage: OutageMail): void {
    const before = resting.get(outage.entryId);
    const restMs = before === undefined ? MAIL_AGAIN_MIN_MS : slower(before.restMs);
    // To the end of the line.
    resting.delete(outage.entryId);
    resting.set(outage.entryId, { outage, restMs, until: performance.now() + restMs });
  }
}

function slower(ms: number): number {
  return Math.min(MAIL_AGAIN_MAX_MS, ms * 2);
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
