import type { Publication } from "../ports/outbound-events";
import type { PushHandoff, PushTaker, QueuePosition } from "../ports/push-handoff";
import type { QueuedPush } from "../ports/push-queue";
import { sizeOfPacked } from "./packed-event";

/** A taker of pushes, and its position in the push queue when `publish` was called. */
export interface Offer {
  readonly taker: PushTaker;
  readonly position: QueuePosition;
  /** The `performance.now()` time of the call. */
  readonly at: number;
}

export interface PushOffers extends PushHandoff {
  /** Returns an offer for the events of a shard; undefined if the events must be read from the queue. */
  offer(shard: number): Offer | undefined;
}

export function createPushOffers(): PushOffers {
  const takers = new Map<number, PushTaker>();
  return {
    add(shard, taker) {
      takers.set(shard, taker);
      return () => {
        if (takers.get(shard) === taker) takers.delete(shard);
      };
    },
    offer(shard) {
      const taker = takers.get(shard);
      const position = taker?.position();
      return taker && position && { taker, position, at: performance.now() };
    },
  };
}

/** Returns a published event in the form in which a read of the push queue would return it. */
export function toQueuedPush(publication: Publication, sequence: string, entryId: string): QueuedPush {
  const {
    workspaceId,
    eventId,
    messageId,
    type,
    publisher = "",
    expiresAtMs,
    push,
    traceparent,
  } = publication;
  const { beforeSequence, afterSequence } = publication.envelope;
  const text = beforeSequence + sequence + afterSequence;
  // A buffer from Node's pool would keep the whole pool in memory.
  const envelope = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  envelope.write(text);
  const queued = {
    entryId,
    workspaceId,
    eventId,
    messageId,
    eventType: type,
    publisher,
    expiresAtMs,
    isRetried: push === "retried",
    envelope,
    traceparent,
    bytes: 0,
    attempts: 0,
    firstFailedAtMs: 0,
  };
  queued.bytes = sizeOfPacked(queued, sequence);
  return queued;
}
