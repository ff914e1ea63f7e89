import type { Delivery, ResponseStart } from "../domain/delivery";

/** An event that waits to be pushed, and its attempts so far. */
export interface QueuedPush {
  readonly entryId: string;
  readonly workspaceId: string;
  readonly eventId: string;
  /** The empty string for an event without a message. */
  readonly messageId: string;
  readonly eventType: string;
  /** The name of the token that published the event; empty when unknown. */
  readonly publisher: string;
  readonly expiresAtMs: number | null;
  readonly isRetried: boolean;
  /** The bytes of the event, exactly as on a page. */
  readonly envelope: Buffer;
  /** The trace context of the span that published the event; undefined when the event is not traced. */
  readonly traceparent?: string | undefined;
  /** Bytes of the event's entry in the queue: the envelope and all other fields. */
  readonly bytes: number;
  /** Number of recorded attempts. */
  readonly attempts: number;
  /** Time when the first attempt failed, in ms; 0 when no attempt is recorded. */
  readonly firstFailedAtMs: number;
}

/** The bounds of one read. If any events are left, a read returns at least one event, however large. */
export interface ReadBound {
  readonly events: number;
  readonly bytes: number;
}

export interface QueueRead {
  readonly pushes: readonly QueuedPush[];
  /**
   * The version of each workspace with events in `pushes`, at the time of the read; 0 for a workspace that no longer
   * exists.
   */
  readonly versions: ReadonlyMap<string, number>;
  /** Whether the queue was read to its end. */
  readonly isEnd: boolean;
}

/** The result of an attempt, or a decision without an attempt, e.g. to drop an expired event. */
export interface PushRecord {
  readonly push: QueuedPush;
  readonly delivery: Delivery | undefined;
  /** The response to log with the delivery. */
  readonly response?: ResponseStart | undefined;
  /**
   * - "done": the event leaves the queue.
   * - "keep": the event leaves the queue, and is kept as a failed event.
   * - "retry": the event stays in the queue for the next attempt.
   * - "hold": the event moves from the queue to the held events, because its workspace is now a poll workspace.
   */
  readonly next:
    | { readonly do: "done" | "keep" }
    | { readonly do: "hold" }
    | { readonly do: "retry"; readonly attempts: number; readonly firstFailedAtMs: number };
}

/**
 * - "recorded": the record is stored.
 * - "lost": nothing was recorded, because this core no longer holds the lease of the shard.
 *
 * A record with "hold" has further outcomes:
 * - "pushed": the workspace is a push workspace again, so the event stays in the queue.
 * - "polls": the event was dropped, because it is an update, and an event that is already held may be a later update of
 *   the same message.
 * - "disconnected": the event was dropped, because its workspace is disconnected or deleted.
 */
export const RECORDED = ["recorded", "lost", "pushed", "polls", "disconnected"] as const;

export type Recorded = (typeof RECORDED)[number];

/**
 * The push queues of the shards. Only the holder of a shard's lease works on the shard's queue; `token` proves that the
 * caller is the holder.
 */
export interface PushQueue {
  /** Returns the first events after the entry `after`, in order of publication; undefined when the lease is lost. */
  read(
    token: string,
    shard: number,
    after: string | undefined,
    most: ReadBound,
  ): Promise<QueueRead | undefined>;
  /** Logs the delivery and stores the next state of the event, in one step. */
  record(token: string, shard: number, record: PushRecord): Promise<Recorded>;
  /** Calls `wake` when a shard may have new events. Returns a function that stops the calls. */
  onWake(wake: (shard: number) => void): () => void;
}
