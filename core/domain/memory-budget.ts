import { FAILED_SHARD_MAX_BYTES } from "../../contract/deliveries";

/**
 * The fraction of Redis's memory that each kind of data gets, if no setting says otherwise. The fractions add up to 1.
 */
export const MEMORY_PARTS = {
  /** Inbound events that a game has not acked. */
  inbound: 0.3,
  /** Held events: enough memory for two workspaces whose held events reach their bound. */
  held: 0.25,
  /** Events that wait to be pushed. */
  push: 0.15,
  /** Failed events. */
  failed: 0.05,
  /** Request ids and idempotency keys, for a day. */
  ids: 0.15,
  /** Workspace records and states, logs, counts, samples of refused requests, dashboard sessions, and outboxes. */
  other: 0.1,
} as const;

/** The fraction of Redis's memory that the held events of one workspace can take. */
const HELD_PART = 1 / 8;

/** The bounds if Redis has no `maxmemory`. */
const WITHOUT_LIMIT = {
  inboundLogMaxBytes: 256 * 1024 * 1024,
  pushQueueMaxBytes: 64 * 1024 * 1024,
  heldMaxBytes: 256 * 1024 * 1024,
} as const;

/** The bytes that each kind of data can take in Redis. */
export interface MemoryBounds {
  /** Inbound events of a shard. */
  readonly inboundLogMaxBytes: number;
  /** Events of a shard that wait to be pushed. */
  readonly pushQueueMaxBytes: number;
  /** Held events of a workspace. */
  readonly heldMaxBytes: number;
}

/** The memory of Redis, in bytes. */
export interface ShardMemory {
  /** The smallest `maxmemory` of all masters. */
  readonly ofMaster: number;
  /**
   * The smallest memory per shard of all masters: a master's `maxmemory` divided by the number of its shards.
   */
  readonly ofShard: number;
}

/**
 * Minimum of a computed bound: a smaller bound would be useless. On a very small Redis, the bounds therefore add up to
 * more than its memory, and core logs a warning.
 */
const LEAST_BYTES = 128 * 1024;

/**
 * Returns the bounds. Bounds from the settings apply unchanged. Every other bound is a fraction of Redis's memory.
 *
 * @param memory undefined when a master has no `maxmemory`
 * @param set the bounds from the settings; 0 for a bound that is not set
 */
export function planMemory(memory: ShardMemory | undefined, set: MemoryBounds): MemoryBounds {
  const part = (share: number, of: number): number => Math.max(LEAST_BYTES, Math.floor(share * of));
  const planned =
    memory === undefined
      ? WITHOUT_LIMIT
      : {
          inboundLogMaxBytes: part(MEMORY_PARTS.inbound, memory.ofShard),
          pushQueueMaxBytes: part(MEMORY_PARTS.push, memory.ofShard),
          heldMaxBytes: part(HELD_PART, memory.ofMaster),
        };
  return {
    inboundLogMaxBytes: set.inboundLogMaxBytes || planned.inboundLogMaxBytes,
    pushQueueMaxBytes: set.pushQueueMaxBytes || planned.pushQueueMaxBytes,
    heldMaxBytes: set.heldMaxBytes || planned.heldMaxBytes,
  };
}

/**
 * Returns the bytes that the failed events of a shard can take.
 *
 * @param memory undefined when a master has no `maxmemory`
 */
export function failedShardMaxBytes(memory: ShardMemory | undefined): number {
  if (memory === undefined) return FAILED_SHARD_MAX_BYTES;
  return Math.min(
    FAILED_SHARD_MAX_BYTES,
    Math.max(LEAST_BYTES, Math.floor(MEMORY_PARTS.failed * memory.ofShard)),
  );
}

const MB = 1024 * 1024;
const inMb = (bytes: number): string => `${Math.round((10 * bytes) / MB) / 10} MB`;

/**
 * Returns a warning if the bounds of a shard add up to more than its memory. Also returns a warning if the held events
 * of one workspace can take more than half of a server's memory. Returns undefined otherwise.
 */
export function findOverbooking(memory: ShardMemory | undefined, bounds: MemoryBounds): string | undefined {
  if (memory === undefined) return undefined;
  const { inbound, push, failed } = MEMORY_PARTS;
  const parts = [
    ["INBOUND_LOG_MAX_BYTES", bounds.inboundLogMaxBytes],
    ["PUSH_QUEUE_MAX_BYTES", bounds.pushQueueMaxBytes],
    ["failed events", failedShardMaxBytes(memory)],
    ["held events, ids and other data", (1 - inbound - push - failed) * memory.ofShard],
  ] as const;
  const sum = parts.reduce((total, [, bytes]) => total + bytes, 0);
  const isHeldTooLarge = bounds.heldMaxBytes > memory.ofMaster / 2;
  if (sum <= memory.ofShard * 1.01 && !isHeldTooLarge) return undefined;
  const sums = parts.map(([name, bytes]) => `${inMb(bytes)} (${name})`).join(" + ");
  const held = isHeldTooLarge
    ? `; HELD_MAX_BYTES is ${inMb(bounds.heldMaxBytes)}, more than half of a server's ${inMb(memory.ofMaster)}`
    : "";
  return `the bounds of a shard add up to ${sums} = ${inMb(sum)}, but Redis has ${inMb(memory.ofShard)} for each shard${held}: raise maxmemory, or lower or remove these settings`;
}
