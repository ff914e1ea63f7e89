import type { QueuedPush } from "../ports/push-queue";
import type { UnqueuedEvent } from "../ports/delivery-log";
import { packArguments, unpackFields } from "./functions";
import type { Argument } from "./redis/redis";

/** The packed fields of an event in the push queue or among the failed events. */
export type PackedEvent = Pick<
  QueuedPush,
  | "workspaceId"
  | "eventId"
  | "messageId"
  | "eventType"
  | "expiresAtMs"
  | "isRetried"
  | "envelope"
  | "traceparent"
>;

/** Unpacks an event, whose form is described in functions/push.lua. `envelope` is a view of `bytes`. */
export function unpackEvent(bytes: Buffer): PackedEvent {
  const [workspace, event, , message, expires, type, how, envelope, traceparent] = unpackFields(bytes);
  if (envelope === undefined) throw new TypeError("a packed event has too few fields");
  return {
    workspaceId: String(workspace),
    eventId: String(event),
    messageId: String(message),
    eventType: String(type),
    expiresAtMs: expires?.length === 0 ? null : Number(String(expires)),
    isRetried: String(how) === "retried",
    envelope,
    traceparent: traceparent?.toString(),
  };
}

/** Packs an event without a message, which is pushed without retries. */
export function packEvent(
  workspaceId: string,
  { eventId, sequence, eventType, expiresAtMs, envelope }: UnqueuedEvent,
): Argument {
  const expiry = expiresAtMs === null ? "" : String(expiresAtMs);
  return packArguments([workspaceId, eventId, String(sequence), "", expiry, eventType, "once", envelope]);
}
