import { deliveryId } from "../../../core/operations/in-flight";
import { preparePublication } from "../../../core/operations/publish-events";
import { streamIdOf } from "../../../core/domain/stream-id";
import { shardOf } from "../../../core/domain/shard";
import type { OutboundEvent } from "../../../core/domain/outbound-event";
import type { OutboundFault } from "../../../core/domain/outbound-rules";
import type { Publication } from "../../../core/ports/outbound-events";
import { faultField, readOutboundEvent } from "../../../core/rpc/outbound-message";
import { findStructProblem } from "../../../core/rpc/struct-problem";
import { WireReader } from "../../../core/rpc/wire-fields";
import {
  PublishRefusal,
  type OutboundEvent as EventMessage,
  type PublishedEvent,
  type PublishResult,
} from "../../../proto/gen/chatbridge/v1/game";
import { Struct } from "../../../proto/gen/google/protobuf/struct";
import type { ChatView } from "./chat-view";
import type { Findings } from "./findings";
import { SHARDS, type FollowGroup } from "./follow-group";
import type { GameClock } from "../clock";

/** Milliseconds for which an idempotency key is stored. */
const KEY_MS = 86_400_000;
/** Maximum number of idempotency keys of a workspace. The oldest are forgotten when there are more. */
const KEYS_MAX = 10_000;

/** The data of a workspace that the publisher uses. */
export interface PublishedWorkspace {
  readonly view: ChatView;
  /** The events of the last 24 hours, by idempotency key, oldest first. */
  readonly keys: Map<string, { readonly published: PublishedEvent; readonly untilMs: number }>;
  lastSequence: number;
}

interface PublisherContext {
  readonly clock: GameClock;
  readonly findings: Findings;
  readonly workspace: (id: string) => PublishedWorkspace | undefined;
  readonly group: (name: string) => FollowGroup | undefined;
}

const ALL_WORKSPACES = { name: "game", workspaces: undefined };

/** Publishes events with core's rules. */
export class MemoryPublisher {
  readonly #context: PublisherContext;
  /** The number in the newest ids. Ids contain numbers instead of times, so each run creates the same ids. */
  #newest = 0;

  constructor(context: PublisherContext) {
    this.#context = context;
  }

  publish(message: EventMessage): PublishResult {
    const read = readOutboundEvent(message);
    if ("fault" in read) return this.refuse(read.fault);
    const { event } = read;
    const dataFault = findDataFault(message);
    if (dataFault) return this.refuse(dataFault);
    const { findings, clock } = this.#context;
    const number = String(++this.#newest).padStart(26, "0");
    const ids = { event: () => `evt_${number}`, message: () => `msg_${number}` };
    const prepared = preparePublication(
      { now: () => clock.now(), ids: { ...UNUSED_IDS, ...ids }, followLog: { shards: SHARDS } },
      event,
      ALL_WORKSPACES,
    );
    if (!("outcome" in prepared)) return this.#store(prepared, event);
    if (prepared.outcome === "invalid")
      return this.#invalid(faultField(event, prepared.fault), prepared.fault);
    findings.add("unknown-workspace", `the workspace id "${event.workspaceId}" is not a UUID`);
    return UNKNOWN_WORKSPACE;
  }

  /** Returns the result for an event with a fault, and reports the fault. */
  refuse(fault: OutboundFault): PublishResult {
    return this.#invalid(fault.field, fault);
  }

  #store(publication: Publication, event: OutboundEvent): PublishResult {
    const { findings, clock } = this.#context;
    const { workspaceId, idempotencyKey: key, eventId, messageId, expiresAtMs } = publication;
    const { type } = publication;
    const workspace = this.#context.workspace(workspaceId);
    if (workspace === undefined) {
      findings.add("unknown-workspace", `no workspace has the id ${workspaceId}`);
      return UNKNOWN_WORKSPACE;
    }
    if (key === "") findings.add("no-key", `a ${type} of workspace ${workspaceId} has no idempotency_key`);
    if (event.fence === undefined)
      findings.add("no-fence", `a ${type} of workspace ${workspaceId} has no fence`);
    const known = key === "" ? undefined : workspace.keys.get(key);
    if (known && clock.now() < known.untilMs) return publishedResult({ ...known.published, repeated: true });
    if (!this.#isCurrent(publication)) {
      findings.add("stale-event", `the fence of a ${type} of workspace ${workspaceId} is stale`);
      return STALE;
    }
    const cause = publication.fence?.delivery;
    if (cause !== undefined) workspace.view.checkHeard(cause.entryId, type);
    workspace.lastSequence += 1;
    const sequence = workspace.lastSequence;
    const expiresAt = expiresAtMs === null ? undefined : new Date(expiresAtMs);
    const published = { eventId, sequence, messageId, expiresAt, repeated: false };
    if (key !== "") keepKey(workspace.keys, key, { published, untilMs: clock.now() + KEY_MS });
    workspace.view.show({ sequence, eventId, messageId, event }, expiresAtMs);
    return publishedResult(published);
  }

  #isCurrent({ fence, workspaceId }: Publication): boolean {
    if (fence === undefined) return true;
    const { group, delivery } = fence;
    const id = delivery && deliveryId(shardOf(workspaceId, SHARDS), delivery.entryId);
    const of = this.#context.group(group);
    const pending = delivery && { deliveryId: id ?? "", attempt: delivery.attempt };
    return of?.isCurrent(streamIdOf(fence), workspaceId, pending) ?? false;
  }

  #invalid(field: string, { message }: OutboundFault): PublishResult {
    this.#context.findings.add("invalid-event", `${field}: ${message}`);
    return refusedResult(PublishRefusal.INVALID, field, message);
  }
}

/** These functions are never called: `preparePublication` creates only the ids of events and messages. */
const UNUSED_IDS = { workspace: unused, secret: unused, token: unused };

function unused(): never {
  throw new Error("core in memory creates no such id");
}

/** Returns the fault that core would find in `data` when decoding the event. */
function findDataFault({ content }: EventMessage): OutboundFault | undefined {
  const data = content?.value.message?.data;
  if (content === undefined || data === undefined) return undefined;
  const field = `${content.$case.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}.message.data`;
  try {
    const bytes = Buffer.from(Struct.encode(Struct.wrap(data)).finish());
    const problem = findStructProblem(new WireReader(bytes), bytes.length);
    return problem === undefined ? undefined : { field, message: `${field} ${problem}` };
  } catch {
    return { field, message: `${field} must contain only values that JSON can express` };
  }
}

function keepKey<T extends { readonly untilMs: number }>(keys: Map<string, T>, key: string, entry: T): void {
  keys.delete(key);
  keys.set(key, entry);
  if (keys.size <= KEYS_MAX) return;
  const [oldest = ""] = keys.keys();
  keys.delete(oldest);
}

function publishedResult(value: PublishedEvent): PublishResult {
  return { outcome: { $case: "published", value } };
}

function refusedResult(reason: PublishRefusal, field: string, message: string): PublishResult {
  return { outcome: { $case: "refused", value: { reason, field, message } } };
}

const UNKNOWN_WORKSPACE = refusedResult(
  PublishRefusal.UNKNOWN_WORKSPACE,
  "workspace_id",
  "no workspace with this id is connected to a bridge",
);

const STALE = refusedResult(
  PublishRefusal.STALE,
  "fence",
  "the stream no longer owns the workspace's shard, or the delivery was acked or delivered again: drop the work that led to this event",
);
