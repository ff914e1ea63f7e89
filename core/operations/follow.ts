import { createWaker } from "../domain/waker";
import type { FollowLog, GroupOpened, GroupOpener } from "../ports/follow-log";
import type { Member, NotJoined } from "../ports/leases";
import { FollowedShards, type FollowOptions } from "./followed-shards";
import { parseDeliveryId } from "./in-flight";

/**
 * Maximum milliseconds to wait for acks after `finish`. Every lease remains valid for longer than this, even if it was
 * about to be renewed.
 */
const FINISH_WITHIN_MS = 1_000;

type State =
  | { readonly is: "following" }
  /** `until`: the `performance.now()` time at which the stream ends at the latest, even if events are unacked. */
  | { readonly is: "finishing"; readonly until: number }
  | { readonly is: "stopped" }
  /** `reason`: why the stream lost its membership, or an error. */
  | { readonly is: "failed"; readonly reason: unknown };

const NEXT: Readonly<Record<State["is"], readonly State["is"][]>> = {
  following: ["finishing", "stopped", "failed"],
  finishing: ["stopped", "failed"],
  stopped: ["failed"],
  failed: [],
};

/**
 * Adds a stream to its group. A new group gets only the events that arrive after its creation. The stream joins before
 * the group is opened: see functions/groups.lua. The stream is in the group only if the result is "opened". The result
 * is "full" if the group already has the maximum number of streams.
 *
 * If the store is unavailable, rejects with `StoreUnavailable`. In that case, the caller must not call `follow`.
 */
export async function enterGroup(
  log: FollowLog,
  member: Member,
  opener: GroupOpener,
): Promise<"full" | GroupOpened> {
  if ((await log.join(member, true)) === "full") return "full";
  let opened: GroupOpened | undefined;
  try {
    opened = await log.open(member.group, opener);
  } finally {
    if (opened !== "opened") await log.leave(member).catch(() => undefined);
  }
  return opened;
}

/** Follows the inbound log for one stream. Must be called after `enterGroup`. */
export function follow(log: FollowLog, options: FollowOptions): Follower {
  return new Follower(log, options);
}

/**
 * One open stream of a consumer.
 *
 *                 finish()              all events acked, or FINISH_WITHIN_MS over
 *     following ───────────▶ finishing ───────────────────────────────────────────▶ (ended)
 *         │                      │                                                     ▲
 *         ├────── stop() ────────┴──────────▶ stopped ─────────────────────────────────┤
 *         │                                      │                                     │
 *         └── membership lost, or an error, ─────┴────▶ failed ────────────────────────┘
 *             from each state
 *
 * A stream that has left `following` reads nothing more and acquires no more leases. When it ends, it writes the
 * pending acks and releases its shards. While it is following, it repeats these steps:
 *
 *   acks     write the pending acks to the store;
 *   overdue  redeliver each event that is overdue or was given back, and with it all later unacked events of its
 *            workspace, in order; given-back events only while their workspace has room in the window;
 *   read     read each shard that may have events, while the window has room: first the parked events whose
 *            workspaces have room, then the events that the shard's previous holder left unacked, then new events;
 *   wait     for a wake from the store, an ack, a renewed lease or the next deadline.
 */
export class Follower {
  /**
   * Resolves when the stream has ended and has released its shards. The result is "stopped" after `stop` or `finish`
   * was called, or the reason why the membership was lost. Rejects with any error that ended the stream.
   */
  readonly ended: Promise<"stopped" | NotJoined>;
  #state: State = { is: "following" };
  readonly #waker = createWaker();
  readonly #log: FollowLog;
  readonly #shards: FollowedShards;

  constructor(log: FollowLog, options: FollowOptions) {
    this.#log = log;
    this.#shards = new FollowedShards(log, options, this.#waker.wake, (reason) => {
      if (this.#state.is !== "failed") this.#enter({ is: "failed", reason });
    });
    this.ended = this.#live();
  }

  /** The number of events that are delivered and not acked yet. */
  get inFlight(): number {
    return this.#shards.inFlight.size;
  }

  /** Acknowledges events. Invalid ids are ignored. */
  ack(deliveryIds: readonly string[]): void {
    this.#eachOf(deliveryIds, (shard, entryId) => this.#shards.ack(shard, entryId));
  }

  /** Restarts the ack deadlines of events. Ids of events that this stream does not have are ignored. */
  extend(deliveryIds: readonly string[]): void {
    this.#eachOf(deliveryIds, (shard, entryId) => this.#shards.extend(shard, entryId));
  }

  /**
   * Makes the stream redeliver events, with the later events of their workspaces, after a delay. Ids of events that this
   * stream does not have are ignored.
   */
  nack(deliveryIds: readonly string[], delayMs: number): void {
    this.#eachOf(deliveryIds, (shard, entryId) => this.#shards.nack(shard, entryId, delayMs));
  }

  /** Acks an event, and reports it to the operators. Returns false if this stream does not have the event. */
  deadLetter(id: string, reason: string): boolean {
    const parsed = parseDeliveryId(id, this.#log.shards);
    const isMine = parsed !== undefined && this.#shards.deadLetter(parsed.shard, parsed.entryId, reason);
    if (isMine) this.#waker.wake();
    return isMine;
  }

  /** Must be called when `isBehind` begins to return false. */
  resume(): void {
    this.#waker.wake();
  }

  /** Ends the stream because the consumer has disconnected. */
  stop(): void {
    const { is } = this.#state;
    if (is === "following" || is === "finishing") this.#enter({ is: "stopped" });
  }

  /**
   * Ends the stream because core is stopping. The stream first waits a short time for acks, so that the next stream
   * redelivers as few events as possible.
   */
  finish(): void {
    if (this.#state.is !== "following") return;
    this.#enter({ is: "finishing", until: performance.now() + FINISH_WITHIN_MS });
  }

  #eachOf(deliveryIds: readonly string[], handle: (shard: number, entryId: string) => void): void {
    for (const id of deliveryIds) {
      const parsed = parseDeliveryId(id, this.#log.shards);
      if (parsed !== undefined) handle(parsed.shard, parsed.entryId);
    }
    this.#waker.wake();
  }

  #enter(next: State): void {
    const { is } = this.#state;
    if (!NEXT[is].includes(next.is)) throw new Error(`a stream that is ${is} cannot become ${next.is}`);
    this.#state = next;
    this.#shards.endBeats();
    this.#waker.wake();
  }

  async #live(): Promise<"stopped" | NotJoined> {
    try {
      return await this.#run();
    } finally {
      await this.#shards.release();
    }
  }

  async #run(): Promise<"stopped" | NotJoined> {
    while (this.#state.is === "following") {
      await this.#shards.writeAcks();
      await this.#shards.sendOverdue();
      await this.#shards.read();
      const waitMs = this.#shards.untilWorkMs();
      if (waitMs > 0) await this.#waker.wait(waitMs);
    }
    while (this.#state.is === "finishing" && this.inFlight > 0) {
      const leftMs = this.#state.until - performance.now();
      if (leftMs <= 0) break;
      await this.#waker.wait(leftMs);
    }
    if (this.#state.is !== "failed") return "stopped";
    const { reason } = this.#state;
    if (reason === "replaced" || reason === "full") return reason;
    throw reason;
  }
}
