import { createBell } from "../domain/bell";
import { createShare } from "../domain/share";
import { type FollowLog, type LogEntry, type Member, type NotJoined, StoreUnavailable } from "../ports/store";
import { heldSince, readFromStart, type HeldShard } from "./held-shard";
import { createInFlight, deliveryId, parseDeliveryId } from "./in-flight";
import { createPendingAcks } from "./pending-acks";
import { createShardRest } from "./shard-rest";

export interface FollowOptions {
  readonly member: Member;
  /** The `performance.now()` at which the member entered its group. */
  readonly enteredAt: number;
  /** The maximum number of events that are delivered and not acked yet. */
  readonly window: number;
  readonly ackDeadlineMs: number;
  /** Called with each event for the consumer. A redelivery has the same id. */
  deliver(deliveryId: string, entry: LogEntry): void;
  /** Whether delivered events still wait to be sent. Then nothing more is delivered until `resume` is called. */
  isBehind(): boolean;
  readonly signal: AbortSignal;
}

/** One open stream of a consumer. */
export interface Follower {
  /** Acknowledges events. Invalid ids are ignored. */
  ack(deliveryIds: readonly string[]): void;
  /** Must be called when `isBehind` has become false. */
  resume(): void;
  /** The number of events that are delivered and not acked yet. */
  readonly inFlight: number;
  /** Resolves when the stream has ended and released its shards: by the signal, or because it lost its membership. */
  readonly ended: Promise<"stopped" | NotJoined>;
}

const BEAT_MS = 750;
const READ_MAX = 100;
const AWAY_MS = 200;

/**
 * Follows the inbound log for one stream. Must be called after `enterGroup`.
 *
 * The stream is a member of its group, holds its share of the shards, and repeats these steps:
 *
 *   beat     every `BEAT_MS`: join, renew the leases, acquire free shards, and release those in
 *            another stream's share when their events are acked or overdue; this runs in parallel
 *            with the other steps;
 *   acks     write them to the store;
 *   overdue  redeliver overdue events, with all later ones of their workspace, in order;
 *   read     read each shard that may have new events, while the window has room: first the events
 *            that its previous holder left unacked, then the new ones;
 *   wait     for a wake from the store, an ack, the next deadline or the next beat.
 *
 * While the Redis server of a shard is unavailable, the steps for that shard are retried a little later;
 * shards on other servers are not affected. The store rejects reading for a stream that has lost the lease,
 * and the stream delivers entries only while its lease is certainly valid. So a process delivers nothing
 * from a lease that expired while the process was paused.
 */
export function follow(log: FollowLog, options: FollowOptions): Follower {
  const { member, enteredAt, window, signal } = options;
  const inFlight = createInFlight(options.ackDeadlineMs);
  const held = new Map<number, HeldShard>();
  const acks = createPendingAcks(log, member.group);
  const bell = createBell();
  let nextBeatAt = 0;
  let fresh = true;
  /** Aborted when the stream must end by itself, with the error or the reason for its lost membership. */
  const over = new AbortController();
  const away = createShardRest(AWAY_MS);
  /** The shard that is being read. */
  let reading: number | undefined;

  const stopWakes = log.onWake((shard) => {
    const state = held.get(shard);
    if (state === undefined) return;
    state.stirred = true;
    bell.ring();
  });
  signal.addEventListener("abort", bell.ring, { once: true });

  const share = createShare({
    shards: log.shards,
    name: member.name,
    async join() {
      const alive = await log.join(member, fresh, performance.now() - enteredAt);
      fresh = false;
      bell.ring();
      if (typeof alive !== "string") return alive;
      over.abort(alive);
      return undefined;
    },
    settle,
    onFault,
  });

  /** Ends the stream, unless the store is unavailable: the next beat retries then. */
  function onFault(error: unknown): void {
    if (error instanceof StoreUnavailable) return;
    over.abort(error);
    bell.ring();
  }

  /** Acquires, renews or releases the lease of a shard. */
  async function settle(shard: number, mine: boolean): Promise<void> {
    if (signal.aborted || over.signal.aborted) return;
    const asked = performance.now();
    if (mine || (held.has(shard) && (inFlight.has(shard) || reading === shard))) {
      const taken = await log.take(member, shard);
      const state = held.get(shard);
      if (taken) held.set(shard, heldSince(asked, mine, state));
      else forget(shard);
      bell.ring();
    } else if (held.has(shard)) {
      forget(shard);
      // Before the lease is dropped, so that the next holder does not redeliver acked events.
      await acks.write(shard);
      await log.drop(member, shard);
    }
  }

  /** Whether the shard must be skipped now: its server is unavailable, or its lease must be renewed first. */
  function rests(shard: number): boolean {
    return away.has(shard) || performance.now() >= (held.get(shard)?.validUntil ?? Infinity);
  }

  /** The number of events that may be delivered now. */
  function room(): number {
    return options.isBehind() ? 0 : window - inFlight.size;
  }

  /** Redelivery skips resting shards and, while the consumer is behind, all shards that stay with this stream. */
  function isLeftOut(shard: number): boolean {
    return rests(shard) || (options.isBehind() && held.get(shard)?.mine !== false);
  }

  function forget(shard: number): void {
    held.delete(shard);
    inFlight.forget(shard);
  }

  async function writeAcks(): Promise<void> {
    const due = acks.shards.filter((shard) => !away.has(shard));
    await Promise.all(due.map((shard) => away.ask(shard, () => acks.write(shard))));
  }

  function send(shard: number, entries: readonly LogEntry[]): void {
    for (const entry of entries) {
      // When a lost answer is read again, it can contain entries that were delivered or acked.
      if (inFlight.isOut(shard, entry.entryId) || acks.has(shard, entry.entryId)) continue;
      inFlight.add(shard, entry);
      options.deliver(deliveryId(shard, entry.entryId), entry);
    }
  }

  async function sendOverdue(): Promise<void> {
    for (let due = inFlight.overdue(isLeftOut); due !== undefined; due = inFlight.overdue(isLeftOut)) {
      const { shard, entryIds } = due;
      const state = held.get(shard);
      if (state?.mine === false) {
        // The next holder redelivers them, or this stream if the shard stays in its share after all.
        inFlight.remove(shard, entryIds);
        readFromStart(state);
        continue;
      }
      const answer = await away.ask(shard, async () => ({
        entries: await log.readEntries(member, shard, entryIds),
      }));
      if (answer === undefined) continue;
      inFlight.remove(shard, entryIds);
      deliver(shard, state, answer.entries);
    }
  }

  /** Delivers entries if their lease is still valid. Otherwise forgets the shard, whose next holder redelivers them. */
  function deliver(
    shard: number,
    state: HeldShard | undefined,
    entries: readonly LogEntry[] | undefined,
  ): boolean {
    const isHeld = state !== undefined && held.get(shard) === state && performance.now() < state.validUntil;
    if (isHeld && entries !== undefined) send(shard, entries);
    else forget(shard);
    return isHeld && entries !== undefined;
  }

  async function read(): Promise<void> {
    const line = [...held];
    for (const [shard, state] of line) {
      const count = Math.min(READ_MAX, room());
      if (count <= 0) return;
      if (!state.stirred || !state.mine || rests(shard) || held.get(shard) !== state) continue;
      state.stirred = false;
      // Moved to the end of the map, so that a busy shard does not use up all of a small window.
      held.delete(shard);
      held.set(shard, state);
      reading = shard;
      await away.ask(shard, () => readShard(shard, state, count));
      reading = undefined;
      // An answer was lost, and the store counts its entries as read.
      if (away.has(shard)) readFromStart(state);
    }
  }

  async function readShard(shard: number, state: HeldShard, count: number): Promise<void> {
    if (state.caughtUp) {
      const entries = await log.readNew(member, shard, count);
      if (deliver(shard, state, entries)) state.stirred ||= entries?.length === count;
      return;
    }
    const again = await log.readAgain(member, shard, count, state.readAgainAfter);
    if (!deliver(shard, state, again?.entries)) return;
    state.readAgainAfter = again?.last;
    state.caughtUp = again?.last === undefined;
    state.stirred = true;
  }

  /** Waits for work. A shard with more events may wait for room, which an ack, a deadline or `resume` makes. */
  async function wait(): Promise<void> {
    if (room() > 0 && [...held].some(([shard, { stirred, mine }]) => stirred && mine && !rests(shard)))
      return;
    const nextDeadline = options.isBehind() ? Infinity : inFlight.nextDeadline;
    const untilDueMs = Math.min(nextBeatAt, nextDeadline) - performance.now();
    const isSomeResting = [...held.keys()].some(rests);
    await bell.wait(isSomeResting ? AWAY_MS : Math.max(1, untilDueMs));
  }

  async function run(): Promise<"stopped" | NotJoined> {
    while (!signal.aborted && !over.signal.aborted) {
      if (performance.now() >= nextBeatAt) {
        nextBeatAt = performance.now() + BEAT_MS;
        void share.beat();
      }
      await writeAcks();
      await sendOverdue();
      await read();
      await wait();
    }
    if (!over.signal.aborted) return "stopped";
    const reason: unknown = over.signal.reason;
    if (reason === "replaced" || reason === "full") return reason;
    throw reason;
  }

  async function live(): Promise<"stopped" | NotJoined> {
    try {
      return await run();
    } finally {
      await letGo();
    }
  }

  async function letGo(): Promise<void> {
    stopWakes();
    await share.idle();
    // Errors are ignored, as leases and membership expire by themselves.
    await writeAcks().catch(() => undefined);
    const drops = [...held.keys()].map((shard) => log.drop(member, shard));
    await Promise.allSettled([...drops, log.leave(member)]);
  }

  return {
    get inFlight() {
      return inFlight.size;
    },
    ack(deliveryIds) {
      for (const id of deliveryIds) {
        const parsed = parseDeliveryId(id, log.shards);
        // An ack beyond the bound is lost, and its event is redelivered.
        if (parsed === undefined || !acks.add(parsed.shard, parsed.entryId)) continue;
        inFlight.remove(parsed.shard, [parsed.entryId]);
      }
      bell.ring();
    },
    resume: bell.ring,
    ended: live(),
  };
}
