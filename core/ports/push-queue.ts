import type { Delivery } from "../domain/delivery";

/** An event that waits to be pushed, and what was done about it so far. */
export interface QueuedPush {
  readonly entryId: string;
  readonly workspaceId: string;
  readonly eventId: string;
  /** Empty for an event that shows no message. */
  readonly messageId: string;
  readonly eventType: string;
  readonly expiresAtMs: number | null;
  readonly isRetried: boolean;
  /** The exact bytes that a poll would serve. */
  readonly envelope: Buffer;
  /** How many bytes it takes in the queue, all of its fields together. */
  readonly bytes: number;
  /** Attempts that were recorded. */
  readonly attempts: number;
  /** When the first of them failed, ms; 0 when there were none. */
  readonly firstFailedAtMs: number;
}

/** How much is read at once; one event is, however large. */
export interface ReadBound {
  readonly events: number;
  readonly bytes: number;
}

export interface QueueRead {
  readonly pushes: readonly QueuedPush[];
  /** The version of each of their workspaces at the time of the reading; 0 where the workspace is gone. */
  readonly versions: ReadonlyMap<string, number>;
  /** Whether the queue was read to its end. */
  readonly isEnd: boolean;
}

/** What became of an attempt, or of an event without one. */
export interface PushRecord {
  readonly push: QueuedPush;
  readonly delivery: Delivery | undefined;
  /** Done: leaves the queue. Retry: stays, for the next attempt. Hold: leaves it for the held events, as its workspace polls by now. */
  readonly next:
    | { readonly do: "done" }
    | { readonly do: "hold" }
    | { readonly do: "retry"; readonly attempts: number; readonly firstFailedAtMs: number };
}

/**
 * Recorded, or "lost": not recorded, for the shard is another core's. An event that was to be held may be
 * - "pushed" after all, as its workspace is pushed to again;
 * - given up because its workspace "polls": it is an update, and what was held since may have a later one;
 * - given up because its workspace is "disconnected" or deleted.
 */
export const RECORDED = ["recorded", "lost", "pushed", "polls", "disconnected"] as const;
export type Recorded = (typeof RECORDED)[number];

/** The push queues of the shards. A queue is worked on by the holder of its shard's lease, which `token` proves. */
export interface PushQueue {
  /** The first events after an entry, in the order of publication; undefined when the lease is lost. */
  read(
    token: string,
    shard: number,
    after: string | undefined,
    most: ReadBound,
  ): Promise<QueueRead | undefined>;
  /** Logs a delivery and writes down what comes next, in one step. */
  record(token: string, shard: number, record: PushRecord): Promise<Recorded>;
  /** Calls back when a shard may have something new. */
  onWake(wake: (shard: number) => void): () => void;
}
