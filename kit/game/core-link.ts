import type { Delivery, OutboundEvent, PublishResult } from "../../proto/gen/chatbridge/v1/game";

/** The connection of a game to core. `GrpcLink` connects to a real core, and `MemoryLink` to a core in memory. */
export interface CoreLink {
  /** Follows the events of the game's group, and keeps following until `close` is called. */
  follow(listener: FollowListener): void;
  /** Acks deliveries. This method and the next three methods ignore ids of deliveries from earlier streams. */
  ack(deliveryIds: readonly string[]): void;
  /** Restarts the ack deadline of deliveries. */
  extend(deliveryIds: readonly string[]): void;
  /** Returns deliveries to core, which redelivers them after the delay. */
  nack(deliveryIds: readonly string[], delayMs: number): void;
  /** Drops a delivery as a dead letter. `reason` has 1 to 200 characters. */
  deadLetter(deliveryId: string, reason: string): void;
  /**
   * Publishes 1 to 100 events, and retries while core is unavailable. Rejects with `LinkClosed` after `close`, and with
   * `CoreRejects` if core rejects the call.
   */
  publish(events: readonly OutboundEvent[]): Promise<readonly PublishResult[]>;
  /** Stops deliveries. Acks and publishing still work. */
  pause(): void;
  /** Sends the last acks, and closes the stream. */
  close(): Promise<void>;
}

/** Handles the messages of a stream. The methods must not throw. */
export interface FollowListener {
  /** A stream is open. It owns no shard yet. */
  opened(stream: OpenStream): void;
  /** The stream owns these shards from now on: no other process of the game runs the timers of their workspaces. */
  gained(shards: readonly number[]): void;
  /** The stream no longer owns these shards. */
  lost(shards: readonly number[]): void;
  delivered(delivery: Delivery): void;
  /** The stream has ended. Its deliveries cannot be acked any more, and it owns no shard. */
  ended(): void;
}

export interface OpenStream {
  /** For `Fence.streamId`; empty if core does not support fences. */
  readonly streamId: string;
  /** The number of shards of the installation. */
  readonly shards: number;
}

/**
 * Core rejects the game or a call. If core rejects the game, retries fail until a setting is changed. If core rejects a
 * call, each retry of this call fails.
 */
export class CoreRejects extends Error {
  override readonly name = "CoreRejects";
  constructor(
    message: string,
    readonly what: "game" | "call" = "game",
  ) {
    super(message);
  }
}

/** The link was closed while a call was in progress. */
export class LinkClosed extends Error {
  override readonly name = "LinkClosed";
  constructor() {
    super("the game has stopped");
  }
}
