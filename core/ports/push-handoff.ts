import type { QueueRead } from "./push-queue";

/** The position up to which the holder of a shard's lease has read the shard's push queue. */
export interface QueuePosition {
  /** Proves that this core holds the lease. */
  readonly token: string;
  /** The id of the last entry that was read; undefined if none was read. */
  readonly after: string | undefined;
}

/**
 * Takes the events of one shard that this core itself has just stored, so that core need not read them from the queue.
 */
export interface PushTaker {
  /** Returns the position of the taker; undefined while it cannot take events, e.g. because it reads the queue. */
  position(): QueuePosition | undefined;
  /**
   * Takes events that are stored, and that are the next entries after `position`. If the taker has left the position, it
   * reads the queue instead.
   *
   * @param read the events, and the versions of their workspaces
   * @param readAt a `performance.now()` time before the events were stored
   */
  take(position: QueuePosition, read: QueueRead, readAt: number): void;
  /** Reads the queue now. The caller does not know whether its events were stored. */
  look(): void;
}

/** Connects the calls that publish events with the core's own push queues. */
export interface PushHandoff {
  /** Adds the taker of a shard. Returns a function that removes the taker. */
  add(shard: number, taker: PushTaker): () => void;
}
