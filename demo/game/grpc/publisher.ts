import { status, type ServiceError } from "@grpc/grpc-js";
import type { Logger } from "pino";
import {
  PublishRefusal,
  type OutboundEvent,
  type PublishResult,
} from "../../../proto/gen/chatbridge/v1/game";
import { createBackOff } from "./back-off";
import type { CoreClient } from "./core-client";
import type { MessageBook } from "./message-book";
import { toOutboundEvent, type Posting } from "./outbound-event";

/**
 * Publishes outputs in order, one call at a time. A call is retried until core
 * answers it, which the idempotency keys make harmless. Waiting outputs do not
 * pile up, because an update replaces the waiting update of the same message.
 * An event that core can never accept is dropped, because it would block all
 * events behind it.
 *
 *     publish() ─▶ waiting ─▶ batch in progress ─▶ entered in the book, settled
 *                               ▲      │ no answer
 *                               └──────┘ back off, retry the same batch
 */
export interface Publisher {
  /** Resolves when the event is stored, rejected or dropped, or when a later update has replaced it. */
  publish(posting: Posting): Promise<void>;
  /** Drops all events that are not published yet. */
  close(): void;
}

export interface PublisherOptions {
  readonly core: CoreClient;
  readonly book: MessageBook;
  readonly log: Logger;
  /** Called when core does not know an event's workspace, e.g. because it was deleted. */
  readonly onUnknownWorkspace: (workspaceId: string) => void;
}

interface Waiting {
  readonly posting: Posting;
  readonly settle: () => void;
}

interface Ready {
  readonly item: Waiting;
  readonly event: OutboundEvent;
}

const BATCH_MAX = 100;
/** Statuses of an invalid call, which no retry can fix. */
const NEVER_PASSES: ReadonlySet<status> = new Set([status.INVALID_ARGUMENT, status.OUT_OF_RANGE]);

export function createPublisher({ core, book, log, onUnknownWorkspace }: PublisherOptions): Publisher {
  const waiting = new Set<Waiting>();
  /** Waiting updates, by the message that they change. */
  const updates = new Map<string, Waiting>();
  const over = new AbortController();
  let running = false;

  function add(item: Waiting): void {
    waiting.add(item);
    const message = messageUpdatedBy(item.posting);
    if (message === undefined) return;
    const earlier = updates.get(message);
    if (earlier !== undefined) remove(earlier).settle();
    updates.set(message, item);
  }

  function remove(item: Waiting): Waiting {
    waiting.delete(item);
    const message = messageUpdatedBy(item.posting);
    if (message !== undefined && updates.get(message) === item) updates.delete(message);
    return item;
  }

  /** Takes the next events, and stops before an update of a message that the same batch creates: its id is unknown. */
  function takeBatch(): readonly Waiting[] {
    const batch: Waiting[] = [];
    const created = new Set<string>();
    for (const item of waiting) {
      const { workspaceId, output } = item.posting;
      const awaited =
        output.type === "message.update" && "ref" in output.target ? output.target.ref : undefined;
      if (batch.length === BATCH_MAX || (awaited !== undefined && created.has(`${workspaceId} ${awaited}`)))
        break;
      if ("ref" in output) created.add(`${workspaceId} ${output.ref}`);
      batch.push(remove(item));
    }
    return batch;
  }

  async function send(batch: readonly Waiting[]): Promise<void> {
    // Updates of a message that core rejected are skipped, because they have no id to update.
    const ready = batch.flatMap((item) => {
      const messageId = messageIdOf(item.posting);
      return messageId === undefined ? [] : [{ item, event: toOutboundEvent(item.posting, messageId) }];
    });
    if (ready.length > 0) await sendReady(ready);
    for (const { settle } of batch) settle();
  }

  async function sendReady(ready: readonly Ready[]): Promise<void> {
    const backOff = createBackOff();
    while (!over.signal.aborted) {
      try {
        const results = await core.publishEvents(ready.map(({ event }) => event));
        for (const [i, { item }] of ready.entries()) learn(item.posting, results[i]);
        return;
      } catch (error) {
        const { code, details } = error as ServiceError;
        if (NEVER_PASSES.has(code)) return giveUp(ready, { code: status[code], details });
        log.warn({ code, details, events: ready.length }, "publishing failed, retrying");
        await backOff.wait(over.signal);
      }
    }
  }

  /** Drops a single event. Several are sent one by one, so that only the faulty ones are dropped. */
  async function giveUp(
    ready: readonly Ready[],
    reason: { readonly code: string | undefined; readonly details: string },
  ): Promise<void> {
    const [only] = ready;
    if (ready.length > 1) {
      for (const each of ready) await sendReady([each]);
    } else if (only !== undefined) {
      const { workspaceId, output } = only.item.posting;
      log.error({ ...reason, workspaceId, type: output.type }, "core cannot accept an event; it is dropped");
    }
  }

  function messageIdOf({ workspaceId, output }: Posting): string | undefined {
    if (output.type !== "message.update") return "";
    return "ref" in output.target ? book.idOf(workspaceId, output.target.ref) : output.target.messageId;
  }

  function learn({ workspaceId, output }: Posting, result: PublishResult | undefined): void {
    const outcome = result?.outcome;
    if (outcome?.$case === "published") {
      if ("ref" in output && output.ref !== undefined)
        book.enter(workspaceId, output.ref, outcome.value.messageId);
      return;
    }
    const { reason, field } = outcome?.value ?? { reason: PublishRefusal.UNSPECIFIED, field: "" };
    if (reason === PublishRefusal.UNKNOWN_WORKSPACE) {
      onUnknownWorkspace(workspaceId);
    } else {
      log.error({ workspaceId, type: output.type, field }, "core rejected an event");
    }
  }

  async function run(): Promise<void> {
    while (waiting.size > 0) await send(takeBatch());
    running = false;
  }

  return {
    publish: (posting) =>
      new Promise((resolve) => {
        add({ posting, settle: resolve });
        // Outputs published in the same turn of the event loop go out in one call.
        if (!running) {
          running = true;
          queueMicrotask(() => void run());
        }
      }),
    close: () => over.abort(),
  };
}

function messageUpdatedBy({ workspaceId, output }: Posting): string | undefined {
  if (output.type !== "message.update") return undefined;
  const { target } = output;
  return "ref" in target ? `${workspaceId} ref ${target.ref}` : `${workspaceId} id ${target.messageId}`;
}
