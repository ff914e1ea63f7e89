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
 * Publishes outputs in order, one call at a time, and tries a call again until
 * core answers it: the keys of its events make that harmless. What waits
 * meanwhile does not pile up, because an update takes the place of the one
 * before it. An event that core will never take is given up, else everything
 * behind it would wait for ever.
 *
 *     publish() ─▶ waiting ─▶ a batch under way ─▶ entered in the book, settled
 *                               ▲      │ no answer
 *                               └──────┘ back off, the same batch again
 */
export interface Publisher {
  /** Resolves when the event is stored, refused or given up for good, or a later update took its place. */
  publish(posting: Posting): Promise<void>;
  /** Gives up on what is not published yet. */
  close(): void;
}

export interface PublisherOptions {
  readonly core: CoreClient;
  readonly book: MessageBook;
  readonly log: Logger;
  /** Told of a workspace that is not there, or no longer. */
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
/** What core answers to a call that is wrong in itself: the same call will never be right. */
const NEVER_PASSES: ReadonlySet<status> = new Set([status.INVALID_ARGUMENT, status.OUT_OF_RANGE]);

export function createPublisher({ core, book, log, onUnknownWorkspace }: PublisherOptions): Publisher {
  const waiting = new Set<Waiting>();
  /** Updates that wait, by the message that they are of. */
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

  /** The next events, up to one whose message is created among them: its id is not known before. */
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
    // An update of a message that was refused has nothing to update.
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
        log.warn({ code, details, events: ready.length }, "core did not take events, trying again");
        await backOff.wait(over.signal);
      }
    }
  }

  /** Of several events it is not known which is at fault: each is sent by itself, and the others get through. */
  async function giveUp(
    ready: readonly Ready[],
    reason: { readonly code: string | undefined; readonly details: string },
  ): Promise<void> {
    const [only] = ready;
    if (ready.length > 1) {
      for (const each of ready) await sendReady([each]);
    } else if (only !== undefined) {
      const { workspaceId, output } = only.item.posting;
      log.error(
        { ...reason, workspaceId, type: output.type },
        "core will never take an event: it is given up",
      );
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
      log.error({ workspaceId, type: output.type, field }, "core refused an event");
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
        // What is published in this turn goes out together.
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
