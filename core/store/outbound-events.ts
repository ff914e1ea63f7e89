import { createHash } from "node:crypto";
import { IDEMPOTENCY_KEY_SECONDS } from "../domain/contract";
import type { OutboundEvents, Publication, Published } from "../ports/outbound-events";
import { createBatch } from "./batch";
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
    mode: mode === undefined ? undefined : asText(mode) === "push" ? "push" : "poll",
  };
}

export function createOutboundEvents(functions: Functions, keys: Keys): OutboundEvents {
  const publish = createBatch<Publication, Published>({
    most: BATCH_MAX,
    async run(shard, publications) {
      const answers = await functions.call("publish", keys.prefix(shard), [
        String(IDEMPOTENCY_KEY_SECONDS),
        ...publications.flatMap(toArguments),
      ]);
      return asList(answers).map(toPublished);
    },
  });
  return { publish: (publication) => publish(keys.shard(publication.workspaceId), publication) };
}
