import type { QueuedPush } from "../ports/push-queue";

/**
 * Maximum bytes of one workspace's events in hand (see `createInHand`). Further events are dropped with the reason
 * "overloaded". This limit is far below `SHARD_BYTES_MAX`, so that one workspace cannot stop core from reading other
 * events.
 */
export const WORKSPACE_BYTES_MAX = 4 * 1024 * 1024;
/** Maximum bytes of a shard's events in hand. Core reads the queue only while the sum is below this limit. */
export const SHARD_BYTES_MAX = 32 * 1024 * 1024;

/**
 * The entries of the push queue that are in hand, and their bytes. An entry is in hand while this core works on the
 * entry: before its first attempt, during its attempts, and between them. When the queue is read again from its
 * beginning, `take` rejects the entries that are already in hand.
 */
export function createInHand() {
  /** Bytes by entry id. */
  const taken = new Map<string, number>();
  /**
   * Ids of entries that left the queue since `readAgain` was called. A read that was in progress when an entry left may
   * still return the entry.
   */
  const finished = new Set<string>();
  const bytesOf = new Map<string, number>();
  let bytes = 0;
  let isReadAgain = false;

  function hold({ entryId, workspaceId }: QueuedPush, size: number): void {
    const more = size - (taken.get(entryId) ?? 0);
    taken.set(entryId, size);
    bytes += more;
    const sum = (bytesOf.get(workspaceId) ?? 0) + more;
    if (sum > 0) bytesOf.set(workspaceId, sum);
    else bytesOf.delete(workspaceId);
  }

  return {
    get bytes() {
      return bytes;
    },
    /** Whether the bytes of the workspace's events in hand exceed `WORKSPACE_BYTES_MAX`. */
    isOver: (workspaceId: string) => (bytesOf.get(workspaceId) ?? 0) > WORKSPACE_BYTES_MAX,
    /** Adds an entry. Returns false when the entry is already in hand. */
    take(push: QueuedPush): boolean {
      if (taken.has(push.entryId)) return false;
      hold(push, push.bytes);
      return true;
    },
    /** Removes an entry that has left the queue. */
    finish(push: QueuedPush): void {
      hold(push, 0);
      if (isReadAgain) finished.add(push.entryId);
      else taken.delete(push.entryId);
    },
    /** Frees the bytes of an entry that may still be in the queue. `take` still rejects the entry. */
    abandon(push: QueuedPush): void {
      if (taken.has(push.entryId)) hold(push, 0);
    },
    /** Lets `take` accept abandoned entries when the queue is read again. */
    putBack(entryIds: readonly string[]): void {
      for (const entryId of entryIds) taken.delete(entryId);
    },
    /** Must be called when the queue is read again from its beginning. */
    readAgain: () => void (isReadAgain = true),
    /** Must be called when the queue has been read to its end. */
    caughtUp(): void {
      isReadAgain = false;
      for (const entryId of finished) taken.delete(entryId);
      finished.clear();
    },
  };
}
