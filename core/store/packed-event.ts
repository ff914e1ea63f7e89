import type { QueuedPush } from "../ports/push-queue";
import type { UnqueuedEvent } from "../ports/delivery-log";
import { LENGTH_BYTES, packArguments } from "./functions";
import type { Argument } from "./redis/redis";

/** The fields of a packed event, as the push queue and the failed events store it. */
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
  let [start, end] = [0, 0];
  /** Moves to the next field. */
  function advance(): void {
    start = end + LENGTH_BYTES;
    if (start > bytes.length) throw new TypeError("a packed event has too few fields");
    end = start + bytes.readUInt32LE(end);
  }
  function text(): string {
    advance();
    return bytes.toString("utf8", start, end);
  }

  const workspaceId = text();
  const eventId = text();
  advance(); // the sequence, which the envelope contains too
  const messageId = text();
  const expiry = text();
  const expiresAtMs = expiry === "" ? null : Number(expiry);
  const eventType = text();
  const isRetried = text() === "retried";
  advance();
  const envelope = bytes.subarray(start, end);
  const traceparent = end === bytes.length ? undefined : text();
  return { workspaceId, eventId, messageId, eventType, expiresAtMs, isRetried, envelope, traceparent };
}

/** Returns the bytes of a packed event. All its fields except the envelope are ASCII. */
export function sizeOfPacked(event: PackedEvent, sequence: string): number {
  const { workspaceId, eventId, messageId, expiresAtMs, eventType, isRetried, envelope, traceparent } = event;
  const expiry = expiresAtMs === null ? 0 : String(expiresAtMs).length;
  const push = isRetried ? "retried" : "once";
  const ids = workspaceId.length + eventId.length + sequence.length + messageId.length;
  const fields = 8 * LENGTH_BYTES + ids + expiry + eventType.length + push.length + envelope.length;
  return traceparent === undefined ? fields : fields + LENGTH_BYTES + traceparent.length;
}

/** Packs an event without a message, which is pushed without retries. */
export function packEvent(
  workspaceId: string,
  { eventId, sequence, eventType, expiresAtMs, envelope }: UnqueuedEvent,
): Argument {
  const expiry = expiresAtMs === null ? "" : String(expiresAtMs);
  return packArguments([workspaceId, eventId, String(sequence), "", expiry, eventType, "once", envelope]);
}
