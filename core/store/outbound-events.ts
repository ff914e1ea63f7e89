import { createHash } from "node:crypto";
import { IDEMPOTENCY_KEY_SECONDS } from "../domain/bounds";
import type { OutboundEvents, Publication, Published } from "../ports/outbound-events";
import type { StoreMeter } from "../ports/meters";
import type { QueuedPush } from "../ports/push-queue";
import { batchFunction } from "./function-batch";
import { packArguments, type Functions } from "./functions";
import type { Keys } from "./keys";
import { toQueuedPush, type Offer, type PushOffers } from "./push-handoff";
import type { Argument, Reply } from "./redis/redis";
import { asList, asNumber, asOneOf, asText, asVersions } from "./redis/reply";

const BATCH_MAX = 200;
/**
 * Number of characters of an event that count as much as one more small event, so that Redis takes about the same time
 * for each full call.
 */
const WEIGHT_LENGTH = 2_048;

/**
 * Returns the traceparent and the fence as one argument. A space precedes each field of the fence, and no field
 * contains a space.
 */
function toOrigin({ traceparent = "", fence }: Publication): string {
  if (fence === undefined) return traceparent;
  const { group, token, delivery } = fence;
  const stream = `${traceparent} ${group} ${token}`;
  return delivery === undefined ? stream : `${stream} ${delivery.entryId} ${delivery.attempt}`;
}

function toArguments(publication: Publication): readonly Argument[] {
  const { workspaceId, idempotencyKey, eventId, publisher = "" } = publication;
  const { messageId, expiresAtMs, type, push } = publication;
  // The key in Redis contains the workspace's id and a digest of the idempotency key. The digest limits the length of
  // the key in Redis.
  const key =
    idempotencyKey === "" ? "" : createHash("sha256").update(idempotencyKey).digest("base64url").slice(0, 22);
  const expiry = expiresAtMs === null ? "" : String(expiresAtMs);
  const packed = packArguments([messageId, expiry, type, push]);
  return [workspaceId, key, eventId, packed, toOrigin(publication), publisher];
}

/** The outcome of an event that was dropped because the push queue was full: the event still counts as published. */
const DROPPED = "full";
const OUTCOMES = [
  DROPPED,
  "poll",
  "push",
  "repeated",
  "held-full",
  "store-full",
  "stale",
  "unknown",
] as const;

function toPublished(reply: Reply, { eventId, messageId, expiresAtMs }: Publication): Published {
  const published = (sequence: Reply, mode?: "poll" | "push"): Published => ({
    outcome: "published",
    eventId,
    sequence: asNumber(sequence),
    messageId,
    expiresAtMs,
    mode,
  });
  if (typeof reply === "number") return published(reply);
  if (!Array.isArray(reply)) return published(handedOver(reply).sequence);
  const [head, ...rest] = asList(reply);
  const outcome = asOneOf(head, OUTCOMES);
  switch (outcome) {
    case DROPPED:
      return published(rest[0]);
    case "poll":
    case "push":
      return published(rest[0], outcome);
    case "repeated":
      return toRepeated(rest);
    case "held-full":
      return { outcome, bytes: asNumber(rest[0]), waiting: asNumber(rest[1]) };
    case "store-full":
    case "stale":
      return { outcome };
    case "unknown":
      return { outcome: "unknown-workspace" };
  }
}

/** Decodes the answer for an event that this core pushes without reading it from the push queue. */
function handedOver(reply: Reply): { readonly sequence: string; readonly entryId: string } {
  const [sequence = "", entryId = ""] = asText(reply).split(" ");
  return { sequence, entryId };
}

/** Hands over the events of a call to the taker, if Redis stored them as the next entries that the taker would read. */
function handOver(offer: Offer, publications: readonly Publication[], answers: readonly Reply[]): void {
  const versions = answers[publications.length];
  if (versions === undefined) return;
  const pushes: QueuedPush[] = [];
  for (const [i, publication] of publications.entries()) {
    const answer = answers[i];
    if (typeof answer === "number" || Array.isArray(answer)) continue;
    const { sequence, entryId } = handedOver(answer);
    pushes.push(toQueuedPush(publication, sequence, entryId));
  }
  offer.taker.take(offer.position, { pushes, versions: asVersions(versions), isEnd: true }, offer.at);
}

function isDropped(reply: Reply): boolean {
  return Array.isArray(reply) && asText(asList(reply)[0]) === DROPPED;
}

function toRepeated([eventId, sequence, messageId, expires]: readonly Reply[]): Published {
  return {
    outcome: "repeated",
    eventId: asText(eventId),
    sequence: asNumber(sequence),
    messageId: asText(messageId),
    expiresAtMs: asText(expires) === "" ? null : asNumber(expires),
    mode: undefined,
  };
}

const NO_MEMORY_TO_HOLD =
  "Redis has used most of its memory, and cannot hold more events for polling; held events leave after 24 hours; raise maxmemory";

interface FailedEventsBound {
  /** Maximum bytes of the failed events of a shard. */
  readonly failedShardMaxBytes: number;
}

export interface OutboundEventsOptions {
  /** Maximum number of events in the push queue of a shard. */
  readonly pushQueueMax: number;
  /** Maximum total size in bytes of the events in the push queue of a shard. */
  readonly pushQueueMaxBytes: number;
  /** Maximum total size in bytes of the held events of a workspace. */
  readonly heldMaxBytes: number;
  /** The memory of a Redis master without `maxmemory`, in bytes; 0 by default, which means no limit. */
  readonly redisMemoryBytes?: number;
  readonly meter?: StoreMeter;
  /** Called when an event was dropped because the push queue was full. */
  onOverloaded?(publication: Publication): void;
}

export function createOutboundEvents(
  functions: Functions,
  keys: Keys,
  options: OutboundEventsOptions & FailedEventsBound,
  offers?: Pick<PushOffers, "offer">,
): OutboundEvents {
  const { pushQueueMax, pushQueueMaxBytes, heldMaxBytes, redisMemoryBytes = 0 } = options;
  const { failedShardMaxBytes, meter, onOverloaded } = options;
  const bounds = [pushQueueMax, pushQueueMaxBytes, heldMaxBytes, redisMemoryBytes, failedShardMaxBytes];
  const head = [IDEMPOTENCY_KEY_SECONDS, ...bounds].map(String);
  const shardOf = ({ workspaceId }: Publication): number => keys.shard(workspaceId);
  /** The offer of each call in progress, keyed by the list of publications that the call sends to one shard. */
  const offered = new WeakMap<readonly Publication[], Offer>();
  const batch = batchFunction<Publication, Published>(functions, keys, {
    name: "publish",
    most: BATCH_MAX,
    weigh: ({ envelope }) => 1 + Math.floor(envelope.afterSequence.length / WEIGHT_LENGTH),
    toArguments(publications) {
      const [first] = publications;
      const offer = first && offers?.offer(shardOf(first));
      if (offer !== undefined) offered.set(publications, offer);
      const { token = "", after = "-" } = offer?.position ?? {};
      return [...head, token, after, ...publications.flatMap(toArguments)];
    },
    toBodies: (publications) =>
      publications.flatMap(({ envelope }) => [envelope.beforeSequence, envelope.afterSequence]),
    toOutputs(reply, publications) {
      const answers = asList(reply);
      const offer = offered.get(publications);
      if (offer !== undefined) handOver(offer, publications, answers);
      return publications.map((publication, i) => {
        const published = toPublished(answers[i], publication);
        if (published.outcome === "published") meter?.minted(published.sequence);
        if (published.outcome === "store-full") meter?.rejected(NO_MEMORY_TO_HOLD);
        if (isDropped(answers[i])) onOverloaded?.(publication);
        return published;
      });
    },
    // If the call failed, Redis may still have stored events without waking a core, so the taker reads the queue.
    onFault: (publications) => offered.get(publications)?.taker.look(),
  });
  return {
    publish: (publication) => batch.one(shardOf(publication), publication),
    publishAll: (publications) => batch.all(publications, shardOf),
  };
}
