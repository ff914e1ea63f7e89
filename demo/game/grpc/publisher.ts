import { status, type ServiceError } from "@grpc/grpc-js";
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import { PublishRefusal, type PublishResult } from "../../../proto/gen/chatbridge/v1/game";
import { pauseAfter, type CoreClient } from "./core-client";
import { toOutboundEvent, type Posting } from "./outbound-event";

export interface PublisherOptions {
  readonly core: CoreClient;
  readonly log: Logger;
  /** Called when core does not know an event's workspace, e.g. because it was deleted. */
  readonly onUnknownWorkspace: (workspaceId: string) => void;
}

interface Waiting {
  readonly posting: Posting;
  readonly settle: () => void;
}

const BATCH_MAX = 100;
/** Number of messages whose ids are remembered. */
const MESSAGES_MAX = 20_000;

/**
 * Publishes outputs in order, one call at a time. A call is retried until core
 * answers it, which the idempotency keys make harmless. Waiting outputs do not
 * pile up, because an update replaces the waiting update of the same message.
 */
export function createPublisher({ core, log, onUnknownWorkspace }: PublisherOptions) {
  const waiting: Waiting[] = [];
  const ids = new LRUCache<string, string>({ max: MESSAGES_MAX });
  const refs = new LRUCache<string, string>({ max: MESSAGES_MAX });
  const over = new AbortController();
  let running: Promise<void> | undefined;

  function add(item: Waiting): void {
    const message = messageUpdatedBy(item.posting);
    const i =
      message === undefined ? -1 : waiting.findIndex(({ posting }) => messageUpdatedBy(posting) === message);
    if (i >= 0) for (const earlier of waiting.splice(i, 1)) earlier.settle();
    waiting.push(item);
  }

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      // A message with a ref ends its batch, because updates of the message need the id that core gives it.
      const end = waiting.findIndex(({ posting: { output } }) => "ref" in output);
      const batch = waiting.splice(0, end < 0 ? BATCH_MAX : Math.min(BATCH_MAX, end + 1));
      await send(batch.map(({ posting }) => posting));
      for (const { settle } of batch) settle();
    }
    running = undefined;
  }

  async function send(batch: readonly Posting[]): Promise<void> {
    // Updates of a message that core rejected are skipped, because they have no id to update.
    const postings = batch.filter((posting) => messageIdOf(posting) !== undefined);
    if (postings.length === 0) return;
    const events = postings.map((posting) => toOutboundEvent(posting, messageIdOf(posting) ?? ""));
    for (let failures = 1; !over.signal.aborted; failures++) {
      try {
        const results = await core.publishEvents(events);
        for (const [i, posting] of postings.entries()) learn(posting, results[i]);
        return;
      } catch (error) {
        const { code, details } = error as ServiceError;
        if (code === status.INVALID_ARGUMENT) {
          log.error({ details, events: events.length }, "core cannot accept a call; its events are dropped");
          return;
        }
        log.warn({ code, details, events: events.length }, "publishing failed, retrying");
        await pauseAfter(failures, over.signal);
      }
    }
  }

  /** The id of the message to update; empty for an output that is no update, undefined while the id is unknown. */
  function messageIdOf({ workspaceId, output }: Posting): string | undefined {
    if (output.type !== "message.update") return "";
    return "ref" in output.target ? ids.get(`${workspaceId} ${output.target.ref}`) : output.target.messageId;
  }

  function learn({ workspaceId, output }: Posting, result: PublishResult | undefined): void {
    const outcome = result?.outcome;
    if (outcome?.$case === "published") {
      const { messageId } = outcome.value;
      if (!("ref" in output) || output.ref === undefined) return;
      ids.set(`${workspaceId} ${output.ref}`, messageId);
      refs.set(`${workspaceId} ${messageId}`, output.ref);
    } else if (outcome?.value.reason === PublishRefusal.UNKNOWN_WORKSPACE) {
      onUnknownWorkspace(workspaceId);
    } else {
      log.error({ workspaceId, type: output.type, field: outcome?.value.field }, "core rejected an event");
    }
  }

  return {
    /** Resolves when the event is stored, rejected or dropped, or when a later update has replaced it. */
    publish: (posting: Posting): Promise<void> =>
      new Promise((resolve) => {
        add({ posting, settle: resolve });
        // Outputs published in the same turn of the event loop go out in one call.
        running ??= Promise.resolve().then(run);
      }),
    /** The ref of a message; undefined when this process has not published it, or has forgotten it. */
    refOf: (workspaceId: string, messageId: string): string | undefined =>
      refs.get(`${workspaceId} ${messageId}`),
    /** Resolves when no event waits. */
    idle: async (): Promise<void> => running,
    /** Drops all events that are not published yet. */
    close: (): void => over.abort(),
  };
}

function messageUpdatedBy({ workspaceId, output }: Posting): string | undefined {
  return output.type === "message.update" ? `${workspaceId} ${JSON.stringify(output.target)}` : undefined;
}
