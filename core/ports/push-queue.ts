import type { Delivery } from "../domain/delivery";

/** An event that waits to be pushed, and its attempts so far. */
export interface QueuedPush {
  readonly entryId: string;
  readonly workspaceId: string;
  readonly eventId: string;
  /** The empty string for an event that shows no message. */
  readonly messageId: string;
  readonly eventType: string;
  readonly expiresAtMs: number | null;
  readonly isRetried: boolean;
  /** The exact bytes that a poll would return. */
  readonly envelope: Buffer;
  /** Bytes that the event takes in the queue, including all of its fields. */
  readonly bytes: number;
  /** Number of recorded attempts. */
  readonly attempts: number;
  /** Time when the first attempt failed, in ms; 0 when there were none. */
  readonly firstFailedAtMs: number;
}

/** The bounds of one read. A read returns at least one event, however large. */
export interface ReadBound {
  readonly events: number;
  readonly bytes: number;
}

export interface QueueRead {
  readonly pushes: readonly QueuedPush[];
  /** The version of each workspace of `pushes` when the queue was read; 0 for a workspace that no longer exists. */
  readonly versions: ReadonlyMap<string, number>;
  /** Whether the queue was read to its end. */
  readonly isEnd: boolean;
}

/** The result of an attempt, or of an event that had none. */
export interface PushRecord {
  readonly push: QueuedPush;
  readonly delivery: Delivery | undefined;
  /**
   * - "done": the event leaves the queue.
   * - "retry": the event stays in the queue for the next attempt.
   * - "hold": the event moves from the queue to the held events, because its workspace polls now.
   */
  readonly next:
    | { readonly do: "done" }
    | { readonly do: "hold" }
    | { readonly do: "retry"; readonly attempts: number; readonly firstFailedAtMs: number };
}

/**
 * - "recorded": the record is stored.
 * - "lost": nothing was recorded, because another core holds the lease of the shard.
 *
 * A record with "hold" has further outcomes:
 * - "pushed": the workspace is a push workspace again, so the event stays in the queue.
 * - "polls": the event was dropped. It is an update, and an event held since then may be a later update.
 * - "disconnected": the event was dropped, because its workspace is disconnected or deleted.
 */
export const RECORDED = ["recorded", "lost", "pushed", "polls", "disconnected"] as const;
export type Recorded = (typeof RECORDED)[number];

/** The push queues of the shards. Only the holder of a shard's lease works on its queue; `token` proves the lease. */
export interface PushQueue {
  /** Returns the first events after the entry `after`, in the order of publication; undefined when the lease is lost. */
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
