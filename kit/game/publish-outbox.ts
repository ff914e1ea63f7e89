import { MESSAGE_ID_FORM } from "../../contract/forms";
import { PUBLISH_BATCH_MAX } from "../../core/domain/bounds";
import {
  PublishRefusal,
  OutboundEvent,
  type Fence,
  type PublishResult,
} from "../../proto/gen/chatbridge/v1/game";
import { findSizeProblems, type SizeProblem } from "./chat-sizes";
import { toMessage } from "./content";
import { CoreRejects, type CoreLink } from "./core-link";
import type { OutboxEntry, WorkspaceDocument } from "./document";
import type { GameLog } from "./log";
import type { RunCounts } from "./run-counts";

export interface PublishContext {
  readonly link: CoreLink;
  readonly log: GameLog;
  readonly counts: RunCounts;
  readonly group: string;
  /** The name of the game. */
  readonly game: string;
  /** Returns the fence of an event. `deliveryId` is undefined if no delivery caused the event. */
  readonly fenceOf: (deliveryId: string | undefined) => Fence | undefined;
  /** Called for each part of a message that some chats do not show well. */
  readonly onSizeProblem: (problem: SizeProblem) => void;
}

/** The result of `publishOutbox`. */
export type PublishOutcome = "published" | "stale" | "unknown-workspace";

/** Number of message ids in a document above which old ids are forgotten, and number of newest ids that are kept. */
const MESSAGES_MAX = 500;
const MESSAGES_KEPT = 250;
/** Maximum number of message ids that are kept, even if the document mentions more messages. */
const MENTIONED_MAX = 5_000;
/** Entries older than this are dropped, because their keys may have expired (24 hours). */
const ENTRY_MAX_AGE_MS = 23 * 3_600_000;

/**
 * Publishes the outbox of a document in order, and records the ids of new messages. The outbox is empty afterwards if
 * the outcome is `published`. Rejects if core rejects the game, or if the link is closed.
 */
export async function publishOutbox(
  workspaceId: string,
  document: WorkspaceDocument,
  context: PublishContext,
  nowMs: number,
): Promise<PublishOutcome> {
  const entries = withoutReplaced(document.outbox.filter(({ atMs }) => nowMs - atMs < ENTRY_MAX_AGE_MS));
  for (let from = 0; from < entries.length;) {
    const call = nextCall(entries, from);
    from += call.length;
    const events = call.map((entry) => toEvent(workspaceId, entry, document, context));
    const sent = events.filter((event) => event !== undefined);
    if (sent.length === 0) continue;
    const results = (await publishCall(workspaceId, sent, context))?.values();
    if (results === undefined) continue;
    for (const [i, event] of events.entries()) {
      if (event === undefined) continue;
      const outcome = record(workspaceId, call[i] as OutboxEntry, results.next().value, document, context);
      if (outcome !== "published") return outcome;
    }
  }
  document.outbox = [];
  return "published";
}

/** Publishes the events of a call. Resolves to undefined if core rejects the call, whose events are then dropped. */
async function publishCall(
  workspaceId: string,
  events: readonly OutboundEvent[],
  { link, log, counts }: PublishContext,
): Promise<readonly PublishResult[] | undefined> {
  try {
    return await link.publish(events);
  } catch (error) {
    if (!(error instanceof CoreRejects && error.what === "call")) throw error;
    counts.refused += events.length;
    const fields = { workspaceId, events: events.length, error: error.message };
    log.error(fields, "core rejects a call, so its events are dropped");
    return undefined;
  }
}

/** Leaves out updates that a later entry replaces: each update shows the whole message. */
function withoutReplaced(entries: readonly OutboxEntry[]): readonly OutboxEntry[] {
  const newest = new Map<string, OutboxEntry>();
  for (const entry of entries) if (entry.output.type === "update") newest.set(entry.output.message, entry);
  return entries.filter(
    (entry) => entry.output.type !== "update" || newest.get(entry.output.message) === entry,
  );
}

/** Returns the next entries that one call can publish. An entry may need the id of a message from an earlier call. */
function nextCall(entries: readonly OutboxEntry[], from: number): OutboxEntry[] {
  const call: OutboxEntry[] = [];
  const created = new Set<string>();
  for (const entry of entries.slice(from, from + PUBLISH_BATCH_MAX)) {
    const { output } = entry;
    const needed =
      output.type === "update" ? output.message : output.type === "ephemeral" ? output.about : undefined;
    if (needed !== undefined && created.has(needed)) break;
    if (output.type === "create" || output.type === "dm") created.add(output.message);
    call.push(entry);
  }
  return call;
}

function toEvent(
  workspaceId: string,
  { key, deliveryId, traceparent, output }: OutboxEntry,
  document: WorkspaceDocument,
  { log, counts, group, game, fenceOf, onSizeProblem }: PublishContext,
): OutboundEvent | undefined {
  const { text = "", buttons = [], data } = output.content;
  findSizeProblems({ text, buttons, data }).forEach(onSizeProblem);
  const content = toContent(output, document, game);
  if (content === undefined) {
    counts.droppedUpdates += 1;
    log.warn({ workspaceId, key }, "an update is dropped, because the id of its message is unknown");
    return undefined;
  }
  const { lifetime } = output.content;
  return OutboundEvent.create({
    workspaceId,
    content,
    idempotencyKey: `${group}/${key}`,
    lifetime:
      lifetime === undefined
        ? undefined
        : { seconds: Math.floor(Number(lifetime) / 1000), nanos: (Number(lifetime) % 1000) * 1e6 },
    traceparent: traceparent ?? "",
    fence: fenceOf(deliveryId),
  });
}

function toContent(
  output: OutboxEntry["output"],
  document: WorkspaceDocument,
  game: string,
): OutboundEvent["content"] {
  const message = toMessage(output.content, game);
  switch (output.type) {
    case "create":
      return { $case: "messageCreate", value: { channel: output.channel, message } };
    case "dm":
      return { $case: "dmCreate", value: { user: output.user, message } };
    case "ephemeral": {
      const about = output.about === undefined ? undefined : readRef(output.about, document).id;
      if (about !== undefined) message.data = { about, ...message.data };
      return { $case: "messageEphemeral", value: { channel: output.channel, user: output.user, message } };
    }
    case "update": {
      const { id, channel } = readRef(output.message, document);
      return id === undefined
        ? undefined
        : { $case: "messageUpdate", value: { channel, message: { ...message, id } } };
    }
  }
}

/** Returns the channel of a message, and its id; the id is undefined if it is unknown. */
export function readRef(message: string, { messages }: Pick<WorkspaceDocument, "messages">) {
  const at = message.indexOf("@");
  const name = message.slice(0, at);
  const id = MESSAGE_ID_FORM.test(name) ? name : messages.find(([number]) => number === Number(name))?.[1];
  return { id, channel: message.slice(at + 1) };
}

/** Forgets old messages, except those that the game can still update: its states, timers and questions mention them. */
function forgetMessages(document: WorkspaceDocument): void {
  const { messages, states, timers, asked } = document;
  const text = JSON.stringify([states, timers, asked]);
  const newestFrom = messages.length - MESSAGES_KEPT;
  document.messages = messages
    .filter(([number], i) => i >= newestFrom || text.includes(`"${number}@`))
    .slice(-MENTIONED_MAX);
}

function record(
  workspaceId: string,
  { key, output }: OutboxEntry,
  result: PublishResult | undefined,
  document: WorkspaceDocument,
  { log, counts }: PublishContext,
): PublishOutcome {
  const outcome = result?.outcome;
  if (outcome?.$case === "published") {
    counts.published += 1;
    if (output.type === "create" || output.type === "dm") {
      document.messages.push([Number.parseInt(output.message, 10), outcome.value.messageId]);
      if (document.messages.length > MESSAGES_MAX) forgetMessages(document);
    }
    return "published";
  }
  const {
    reason = PublishRefusal.UNSPECIFIED,
    field = "",
    message = "core sent no result",
  } = outcome?.value ?? {};
  if (reason === PublishRefusal.STALE) {
    counts.stale += 1;
    return "stale";
  }
  if (reason === PublishRefusal.UNKNOWN_WORKSPACE) return "unknown-workspace";
  counts.refused += 1;
  log.error(
    { workspaceId, key, reason: PublishRefusal[reason], field, message },
    "core has refused an event, which is dropped",
  );
  return "published";
}
