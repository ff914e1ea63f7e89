import type { DropReason } from "../../contract/deliveries";
import { OwnerMap } from "../../runtime/owner-map";
import type { Lease } from "../leases/lease";
import type { Clock } from "../ports/outside";
import type { QueuePosition } from "../ports/push-handoff";
import type { PushQueue, QueuedPush, QueueRead } from "../ports/push-queue";
import { WAIT_MAX_MS } from "./turns";

/** The limits of one read of the queue. */
const READ_MAX = { events: 200, bytes: 1024 * 1024 } as const;
/**
 * Maximum total size in bytes of one workspace's events in hand (see `createInHand`). Further events are dropped with
 * the reason "overloaded". This limit is far below `SHARD_BYTES_MAX`, so that one workspace cannot stop core from
 * reading other events.
 */
export const WORKSPACE_BYTES_MAX = 4 * 1024 * 1024;
/**
 * Maximum total size in bytes of a shard's events in hand. Core reads the queue only while there is room for a read of
 * the maximum size.
 */
export const SHARD_BYTES_MAX = 32 * 1024 * 1024;

/** The maps of a shard forget idle workspaces when they contain at least this many workspaces. See `OwnerMap`. */
export const FORGET_WORKSPACES_AT = 64;

/**
 * Tracks the entries of the push queue that are in hand, and their sizes in bytes. An entry is in hand while this core
 * works on the entry: before its first attempt, during its attempts, and between them. When the queue is read again
 * from its beginning, `take` rejects the entries that are already in hand.
 */
export function createInHand() {
  /** Bytes by entry id. */
  const taken = new Map<string, number>();
  /**
   * Ids of entries that left the queue since `readAgain` was called. A read that was in progress when an entry left the
   * queue may still return the entry.
   */
  const finished = new Set<string>();
  const bytesOf = new OwnerMap(
    () => ({ sum: 0 }),
    ({ sum }) => sum === 0,
    FORGET_WORKSPACES_AT,
  );
  let bytes = 0;
  let isReadAgain = false;

  function hold({ entryId, workspaceId }: QueuedPush, size: number): void {
    const more = size - (taken.get(entryId) ?? 0);
    taken.set(entryId, size);
    bytes += more;
    const ofWorkspace = bytesOf.of(workspaceId);
    ofWorkspace.sum += more;
    if (ofWorkspace.sum === 0) bytesOf.idle(workspaceId);
  }

  return {
    get bytes() {
      return bytes;
    },
    /** Whether the queue is being read again from its beginning. */
    get isReadAgain() {
      return isReadAgain;
    },
    /** Whether the bytes of the workspace's events in hand exceed `WORKSPACE_BYTES_MAX`. */
    isOver: (workspaceId: string) => (bytesOf.get(workspaceId)?.sum ?? 0) > WORKSPACE_BYTES_MAX,
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
    /** Stops counting the bytes of an entry that may still be in the queue. `take` still rejects the entry. */
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

interface ShardQueueContext {
  readonly now: Clock;
  readonly pushQueue: PushQueue;
}

/** Reads the push queue of one shard, and keeps the position up to which it has been read. */
export class ShardQueue {
  readonly inHand = createInHand();
  readonly #context: ShardQueueContext;
  readonly #lease: Lease;
  readonly #beganAt = performance.now();
  /** The id of the last entry that was read; undefined to read from the start of the queue. */
  #after: string | undefined;
  #isReading = false;
  /** The `performance.now()` time at which the last read that reached the end of the queue began. */
  #caughtUpAt = -Infinity;
  /** The last period in which reads failed, as `performance.now()` times. */
  readonly #fault = { isOver: true, from: -Infinity, to: -Infinity };

  constructor(context: ShardQueueContext, lease: Lease) {
    this.#context = context;
    this.#lease = lease;
  }

  /** Whether the events in hand leave no room for another read of the maximum size. */
  get isFull(): boolean {
    return this.inHand.bytes + READ_MAX.bytes > SHARD_BYTES_MAX;
  }

  /**
   * Reads the next events, including some that may already be in hand. Returns undefined if another core holds the
   * lease, or Redis has lost the lease: `holdLeases` determines which.
   */
  async read(): Promise<QueueRead | undefined> {
    const { token, shard } = this.#lease;
    this.#isReading = true;
    try {
      const read = await this.#context.pushQueue.read(token, shard, this.#after, READ_MAX);
      if (read === undefined) return undefined;
      this.#fault.isOver = true;
      this.#after = read.pushes.at(-1)?.entryId ?? this.#after;
      return read;
    } finally {
      this.#isReading = false;
    }
  }

  /** The position up to which the queue has been read; undefined during a read, or without room for another read. */
  get position(): QueuePosition | undefined {
    if (this.#isReading || this.inHand.isReadAgain || this.isFull) return undefined;
    return { token: this.#lease.token, after: this.#after };
  }

  /**
   * Moves the position of this queue from `from` to the entry `to`. Returns false if `from` is no longer the position.
   */
  move(from: QueuePosition, to: string | undefined): boolean {
    const { position } = this;
    if (position === undefined || position.after !== from.after) return false;
    this.#after = to ?? this.#after;
    return true;
  }

  /**
   * Must be called after a read that reached the end of the queue, as soon as all its events are in hand. `readAt` is
   * the time at which that read began.
   */
  caughtUp(readAt: number): void {
    this.inHand.caughtUp();
    this.#caughtUpAt = readAt;
  }

  /** Must be called when the queue could not be read. */
  failed(): void {
    this.#fault.to = performance.now();
    if (this.#fault.isOver) this.#fault.from = this.#fault.to;
    this.#fault.isOver = false;
    this.readAgain();
  }

  /**
   * Makes the next read begin at the start of the queue. After a failover, the new server may lack the entry `#after`.
   * The new server's clock may also be behind, so that new entries have lower ids than `#after`.
   */
  readAgain(): void {
    this.#after = undefined;
    this.inHand.readAgain();
  }

  /** Returns the milliseconds since an event was published, on the service clock, which may have jumped since then. */
  ageOf({ entryId }: QueuedPush): number {
    // The id of an entry begins with the time in ms at which Redis stored the entry.
    return Math.max(0, this.#context.now() - Number.parseInt(entryId, 10));
  }

  /** Returns the `performance.now()` time at which an event was published. Must be called before `caughtUp`. */
  publishedAt(event: QueuedPush): number {
    // An event that the last read to the end of the queue did not return is newer than that read, whatever the clocks
    // say.
    return Math.max(performance.now() - this.ageOf(event), this.#caughtUpAt);
  }

  /**
   * Returns why an event that was published at `since` is too late for its first attempt. The reason is "outage" if the
   * event was already late when this core began to read the queue, or if reads failed during most of the wait.
   */
  whyLate(since: number): DropReason {
    const lostMs = Math.min(this.#fault.to, since + WAIT_MAX_MS) - Math.max(this.#fault.from, since);
    return this.#beganAt - since > WAIT_MAX_MS || lostMs > WAIT_MAX_MS / 2 ? "outage" : "overloaded";
  }
}
