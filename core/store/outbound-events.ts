import { createHash } from "node:crypto";
import { IDEMPOTENCY_KEY_SECONDS } from "../domain/contract";
import type { OutboundEvents, Publication, Published } from "../ports/outbound-events";
import type { StoreMeter } from "../ports/store-meter";
import { batchFunction } from "./function-batch";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Argument, Reply } from "./redis";
import { asList, asNumber, asText } from "./reply";

const BATCH_MAX = 100;

function toArguments(publication: Publication): readonly Argument[] {
  const { workspaceId, idempotencyKey, eventId, messageId, expiresAtMs, type, push, envelope } = publication;
  // A digest has one length whatever the key's; the workspace is in the name it is kept under.
  const key =
    idempotencyKey === "" ? "" : createHash("sha256").update(idempotencyKey).digest("base64url").slice(0, 22);
  return [
    workspaceId,
    key,
    eventId,
    messageId,
    expiresAtMs === null ? "" : String(expiresAtMs),
    type,
    push,
    envelope.beforeSequence,
    envelope.afterSequence,
  ];
}

function toPublished(reply: Reply): Published {
  const [head, eventId, sequence, messageId, expires, mode] = asList(reply);
  const outcome = asText(head);
  if (outcome === "unknown") return { outcome: "unknown-workspace" };
  if (outcome !== "published" && outcome !== "repeated") throw new TypeError(`publish answered ${outcome}`);
  return {
    outcome,
    eventId: asText(eventId),
    sequence: asNumber(sequence),
    messageId: asText(messageId),
    expiresAtMs: asText(expires) === "" ? null : asNumber(expires),
    mode: mode === undefined ? undefined : asText(mode) === "poll" ? "poll" : "push",
  };
}

/** Whether the event was dropped as overloaded, as the push queue is full. */
function wasDropped(reply: Reply): boolean {
  const [, , , , , mode] = asList(reply);
  return mode !== undefined && asText(mode) === "full";
}

export interface OutboundEventsOptions {
  /** Events that the push queue of a shard holds at most, and their bytes. */
  readonly pushQueueMax: number;
  readonly pushQueueMaxBytes: number;
  readonly meter: StoreMeter | undefined;
  /** Told of events that the push queue had no room for: they were dropped as overloaded. */
  onOverloaded(publication: Publication): void;
}

export function createOutboundEvents(
  functions: Functions,
  keys: Keys,
  { pushQueueMax, pushQueueMaxBytes, meter, onOverloaded }: OutboundEventsOptions,
): OutboundEvents {
  const head = [IDEMPOTENCY_KEY_SECONDS, pushQueueMax, pushQueueMaxBytes].map(String);
  const publish = batchFunction<Publication, Published>(functions, keys, {
    name: "publish",
    most: BATCH_MAX,
    toArguments: (publications) => [...head, ...publications.flatMap(toArguments)],
    toOutputs(reply, publications) {
      const answers = asList(reply);
      return publications.map((publication, i) => {
        const published = toPublished(answers[i]);
        if (published.outcome === "published") meter?.minted(published.sequence);
        if (wasDropped(answers[i])) onOverloaded(publication);
        return published;
      });
    },
  });
  return { publish: (publication) => publish(keys.shard(publication.workspaceId), publication) };
}
