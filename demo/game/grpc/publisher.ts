import { status, type ServiceError } from "@grpc/grpc-js";
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import { PublishRefusal, type PublishResult } from "../../../proto/gen/chatbridge/v1/game";
import { failureCause } from "../../../runtime/core-channel";
import type { Output } from "../rules/input-output";
import { pauseAfter, type CoreClient } from "./core-client";
import { toOutboundEvent, type Posting } from "./outbound-event";

export interface PublisherOptions {
  readonly core: CoreClient;
  readonly group: string;
  /** The name of the game. */
  readonly game: string;
  readonly log: Logger;
  /** Called when core does not know a workspace, e.g. because the workspace was deleted. */
  readonly onUnknownWorkspace: (workspaceId: string) => void;
}

const CALL_MAX_EVENTS = 100;
/** Maximum number of messages whose ids are cached. */
const MESSAGES_MAX = 20_000;

/**
 * Publishes the outputs of each workspace in order, one call at a time. A call is
 * retried until it succeeds, core rejects it as invalid, or the publisher is closed.
 * Idempotency keys make the retries harmless.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  /** Ids of messages, by workspace and `ref` (see `Output`). */
  readonly #ids = new LRUCache<string, string>({ max: MESSAGES_MAX });
  /** The `ref` of each message, by workspace and id. */
  readonly #refs = new LRUCache<string, string>({ max: MESSAGES_MAX });
  /** One promise per workspace, which resolves when all outputs so far are handled. */
  readonly #pending = new Map<string, Promise<void>>();
  /** The newest pending update of each message. Every update shows the whole message, so older updates are not published. */
  readonly #updates = new Map<string, Output>();
  readonly #over = new AbortController();

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the outputs are stored, rejected or dropped. The same `cause`
   * gives the same idempotency keys. So the outputs of an event are published once,
   * even if the event is redelivered after a crash. The keys contain the group,
   * because other games share the workspace. The keys contain the type, because
   * the outputs can differ after a crash. Without the type, a new message could get the
   * key of an earlier update, and core would treat the new message as a repeat.
   */
  async publish(workspaceId: string, cause: string, outputs: readonly Output[]): Promise<void> {
    const { group, game } = this.#options;
    const postings = outputs.map((output, i) => {
      if (output.type === "message.update") this.#updates.set(messageUpdatedBy(workspaceId, output), output);
      return { workspaceId, idempotencyKey: `${group}/${cause}/${i}/${output.type}`, output, game };
    });
    const done = (this.#pending.get(workspaceId) ?? Promise.resolve()).then(() => this.#send(postings));
    this.#pending.set(workspaceId, done);
    await done;
    if (this.#pending.get(workspaceId) === done) this.#pending.delete(workspaceId);
  }

  /**
   * Returns the `ref` of a message (see `Output`); undefined if the `ref` is not cached, e.g. for another game's
   * message.
   */
  refOf(workspaceId: string, messageId: string): string | undefined {
    return this.#refs.get(`${workspaceId} ${messageId}`);
  }

  /** Resolves when no output is pending. */
  async idle(): Promise<void> {
    await Promise.all(this.#pending.values());
  }

  /** Drops all outputs that have not been published yet. */
  close(): void {
    this.#over.abort();
  }

  async #send(postings: readonly Posting[]): Promise<void> {
    const current = postings.filter(({ workspaceId, output }) => {
      if (output.type !== "message.update") return true;
      const message = messageUpdatedBy(workspaceId, output);
      if (this.#updates.get(message) !== output) return false;
      this.#updates.delete(message);
      // If core rejected the event that creates the message, there is no message to update, so the update is dropped.
      return this.#messageIdOf(workspaceId, output) !== undefined;
    });
    for (let i = 0; i < current.length; i += CALL_MAX_EVENTS)
      await this.#call(current.slice(i, i + CALL_MAX_EVENTS));
  }

  async #call(postings: readonly Posting[]): Promise<void> {
    const { core, log } = this.#options;
    const events = postings.map((posting) =>
      toOutboundEvent(posting, this.#messageIdOf(posting.workspaceId, posting.output) ?? ""),
    );
    for (let failures = 1; !this.#over.signal.aborted; failures++) {
      try {
        const results = await core.publishEvents(events);
        for (const [i, posting] of postings.entries()) this.#learn(posting, results[i]);
        return;
      } catch (error) {
        const { code, details } = error as ServiceError;
        const { length } = events;
        if (code === status.INVALID_ARGUMENT) {
          log.error({ details, events: length }, "core rejected a call; all events of the call are dropped");
          return;
        }
        log.warn({ code, details: failureCause(details), events: length }, "publishing failed, retrying");
        await pauseAfter(failures, this.#over.signal);
      }
    }
  }

  /** Returns the id of the message that an output updates or belongs to; undefined if there is none. */
  #messageIdOf(workspaceId: string, output: Output): string | undefined {
    const target = "target" in output ? output.target : "about" in output ? output.about : undefined;
    if (target === undefined) return undefined;
    return "ref" in target ? this.#ids.get(`${workspaceId} ${target.ref}`) : target.messageId;
  }

  #learn({ workspaceId, output }: Posting, result: PublishResult | undefined): void {
    const { log, onUnknownWorkspace } = this.#options;
    const outcome = result?.outcome;
    if (outcome?.$case === "published") {
      const { messageId } = outcome.value;
      if (!("ref" in output) || output.ref === undefined) return;
      this.#ids.set(`${workspaceId} ${output.ref}`, messageId);
      this.#refs.set(`${workspaceId} ${messageId}`, output.ref);
    } else if (outcome?.value.reason === PublishRefusal.UNKNOWN_WORKSPACE) {
      onUnknownWorkspace(workspaceId);
    } else {
      log.error({ workspaceId, type: output.type, field: outcome?.value.field }, "core rejected an event");
    }
  }
}

function messageUpdatedBy(
  workspaceId: string,
  { target }: Output & { readonly type: "message.update" },
): string {
  return `${workspaceId} ${JSON.stringify(target)}`;
}
