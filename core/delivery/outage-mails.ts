import { FAILING_AFTER_MS, HELD_SECONDS } from "../../contract/numbers";
import type { Workspace } from "../domain/workspace";
import type { Lease } from "../leases/lease";
import { MailRefused, type Mail, type Mailer } from "../ports/outside";
import type { OutageMail, PollWatch } from "../ports/poll-watch";
import { StoreUnavailable } from "../ports/store-faults";
import type { Workspaces } from "../ports/workspaces";
import { isOver, nextRest, type Rest } from "./growing-rest";

export interface OutageMailsContext {
  readonly pollWatch: PollWatch;
  readonly workspaces: Workspaces;
  readonly mailer: Mailer;
  /** Called when an email could not be sent. The email stays in the outbox. */
  onMailFault(workspaceId: string, error: unknown): void;
  /** Called when an unsent email is dropped, because the mail server permanently rejected the email. */
  onMailRefused(workspaceId: string, error: unknown): void;
}

/** Maximum number of emails that are retried in one round, so that the next check of the shard is not delayed. */
const RESTED_MAX = 10;

/** An email that was not accepted and waits for a retry. */
interface Resting {
  readonly outage: OutageMail;
  readonly rest: Rest;
}

/**
 * Sends the emails in the outbox of one shard. An email leaves the outbox when the mail server has accepted it or
 * permanently rejected it. Any other email is retried with growing pauses. New emails are sent before retries.
 */
export class OutageMails {
  readonly #context: OutageMailsContext;
  readonly #lease: Lease;
  /** The pause after a failure that may affect all emails; undefined if there was none. */
  #rest: Rest | undefined;
  /**
   * The entry id of the newest email that core has tried to send. Earlier emails that are still in the outbox wait
   * for a retry.
   */
  #tried: string | undefined;
  readonly #resting = new Map<string, Resting>();

  constructor(context: OutageMailsContext, lease: Lease) {
    this.#context = context;
    this.#lease = lease;
  }

  /**
   * Makes the next round read the outbox from its start. After a failover, the clock of Redis may be behind, so new
   * emails may have lower entry ids than emails that were already tried.
   */
  readAgain(): void {
    this.#tried = undefined;
  }

  /** Sends the new emails, and then the emails whose pause has ended. Throws `StoreUnavailable`. */
  async sendDue(): Promise<void> {
    if (!isOver(this.#rest)) return;
    for (const outage of await this.#context.pollWatch.readMail(this.#lease.shard, this.#tried)) {
      const became = this.#resting.has(outage.entryId) ? "handled" : await this.#send(outage);
      if (became === "not-begun") return;
      this.#tried = outage.entryId;
      if (became === "unavailable") return;
    }
    const rested = [...this.#resting.values()].filter(({ rest }) => isOver(rest));
    for (const { outage } of rested.slice(0, RESTED_MAX)) {
      if ((await this.#send(outage)) !== "handled") return;
    }
  }

  /**
   * Sends one email. If the result is "unavailable" (an error that may affect all emails) or "not-begun" (no lease),
   * the caller must stop sending emails in this round.
   */
  async #send(outage: OutageMail): Promise<"handled" | "unavailable" | "not-begun"> {
    const { workspaceId, entryId } = outage;
    const { pollWatch, mailer, onMailFault, onMailRefused } = this.#context;
    let refusal: MailRefused | undefined;
    try {
      const workspace = await this.#readWorkspace(workspaceId);
      if (this.#lease.stopping.aborted || this.#lease.isOver()) return "not-begun";
      const mail = workspace && compose(workspace, outage);
      if (mail !== undefined) await mailer.send(mail);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      if (!(error instanceof MailRefused)) {
        this.#rest = nextRest(this.#rest);
        // This email may have caused the error. The email waits for a retry, so that it cannot delay other emails
        // forever.
        this.#keep(outage);
        onMailFault(workspaceId, error);
        return "unavailable";
      }
      refusal = error;
    }
    this.#rest = undefined;
    if (refusal?.isForGood === false) {
      this.#keep(outage);
      onMailFault(workspaceId, refusal.cause);
      return "handled";
    }
    await pollWatch.removeMail(this.#lease.shard, entryId);
    this.#resting.delete(entryId);
    if (refusal !== undefined) onMailRefused(workspaceId, refusal.cause);
    return "handled";
  }

  /**
   * Reads a workspace. Throws `StoreUnavailable`, or `MailRefused` for any other error, e.g. if the record is damaged.
   * `MailRefused` delays only the emails of this workspace.
   */
  async #readWorkspace(id: string): Promise<Workspace | undefined> {
    try {
      return (await this.#context.workspaces.read(id))?.workspace;
    } catch (error) {
      throw error instanceof StoreUnavailable ? error : new MailRefused(false, error);
    }
  }

  #keep(outage: OutageMail): void {
    const rest = nextRest(this.#resting.get(outage.entryId)?.rest);
    // The email is deleted from the map first, so that `set` adds the email at the end.
    this.#resting.delete(outage.entryId);
    this.#resting.set(outage.entryId, { outage, rest });
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
