import type { QueuedPush } from "../ports/push-queue";

/**
 * Bytes of a workspace's events that may be in hand; what comes on top is dropped as overloaded. Far below
 * a shard's bound, so that no workspace keeps the events of another from being read.
 */
export const WORKSPACE_BYTES_MAX = 4 * 1024 * 1024;
/** Bytes of a shard's events that may be in hand; the queue is read as far as they leave room. */
export const SHARD_BYTES_MAX = 32 * 1024 * 1024;

/**
 * The entries of a queue that are being seen to, whether they wait, are tried or rest, and their bytes.
 * Read again from its beginning, the queue brings none of them twice.
 */
export interface InHand {
  readonly bytes: number;
  /** Whether the events of the workspace have more bytes than its bound. */
  isOver(workspaceId: string): boolean;
  /** False for an entry that is in hand already. */
  take(push: QueuedPush): boolean;
  /** The entry has left the queue. */
  finish(push: QueuedPush): void;
  /** Nothing more is done about the entry, which may still be in the queue: its bytes are free, and it is not taken again. */
  abandon(push: QueuedPush): void;
  /** The queue is read from its beginning. */
  readAgain(): void;
  /** It was read to its end. */
  caughtUp(): void;
}

export function createInHand(): InHand {
  /** With the bytes that each has in hand. */
  const taken = new Map<string, number>();
  /** Left the queue since it is read again: what is read may have been answered before. */
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
    isOver: (workspaceId) => (bytesOf.get(workspaceId) ?? 0) > WORKSPACE_BYTES_MAX,
    take(push) {
      if (taken.has(push.entryId)) return false;
      hold(push, push.bytes);
      return true;
    },
    finish(push) {
      hold(push, 0);
      if (isReadAgain) finished.add(push.entryId);
      else taken.delete(push.entryId);
    },
    abandon(push) {
      if (taken.has(push.entryId)) hold(push, 0);
    },
    readAgain: () => void (isReadAgain = true),
    caughtUp() {
      isReadAgain = false;
      for (const entryId of finished) taken.delete(entryId);
      finished.clear();
    },
  };
}
