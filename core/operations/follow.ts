import { once } from "node:events";
import { createWaker } from "../domain/waker";
import type { Lease } from "../leases/lease";
import { holdLeases } from "../leases/lease-holder";
import type { FollowLog, LogEntry } from "../ports/follow-log";
import type { Member, NotJoined } from "../ports/leases";
import { followShard, type FollowedShard } from "./followed-shard";
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
  /** Called with each event for the consumer. A redelivery of an event has the same `deliveryId`. */
  deliver(deliveryId: string, entry: LogEntry): void;
  /**
   * Whether events that were passed to `deliver` still wait to be sent. If so, no further events are read until
   * `isBehind` is false again.
   */
  isBehind(): boolean;
  readonly signal: AbortSignal;
}

/** One open stream of a consumer. */
export interface Follower {
  /** Acknowledges events. Invalid ids are ignored. */
  ack(deliveryIds: readonly string[]): void;
  /**
   * Ends the stream because core stops. The stream delivers nothing more, and first waits a short time for acks, so that
   * the next stream redelivers as few events as possible.
   */
  finish(): void;
  /** Must be called when `isBehind` has become false. */
  resume(): void;
  /** The number of events that are delivered and not acked yet. */
  readonly inFlight: number;
  /**
   * Resolves when the stream has ended and has released its shards: with "stopped" after `signal` is aborted or `finish`
   * is called, or with the reason for a lost membership. Rejects with any error that ended the stream.
   */
  readonly ended: Promise<"stopped" | NotJoined>;
}

const READ_MAX = 100;
const REST_MS = 200;
const WAIT_MAX_MS = 1_000;
/** Maximum time for acks after `finish`. A lease lasts longer than this, even if it was about to be renewed. */
const FINISH_WITHIN_MS = 1_000;

/**
 * Follows the inbound log for one stream. Must be called after `enterGroup`.
 *
 * The stream is a member of its group. `holdLeases` acquires leases on the stream's share of the shards.
 * When a shard moves to another stream's share, `holdLeases` keeps the lease until all delivered events of the
 * shard are acked or overdue. Meanwhile, the stream repeats these steps:
 *
 *   acks     write the pending acks to the store;
 *   overdue  redeliver each overdue event, and with it all later unacked events of its workspace, in order;
 *   read     read each shard that may have new events, while the window has room: first the events
 *            that the shard's previous holder left unacked, then new events;
 *   wait     for a wake from the store, an ack, a renewed lease or the next deadline.
 *
 * While the Redis server of a shard is unavailable, the steps for that shard are retried a little later. Shards
 * on other servers are not affected. The store rejects reads from a stream that has lost the shard's lease. The
 * stream delivers entries only while the lease is certainly valid. So if a lease expires while the process is
 * paused, the stream delivers no entries of that shard until it has acquired the lease again.
 */
export function follow(log: FollowLog, options: FollowOptions): Follower {
  const { member, enteredAt, window, signal } = options;
  const inFlight = createInFlight(options.ackDeadlineMs);
  const held = new Map<number, FollowedShard>();
  const acks = createPendingAcks(log, member.group);
  const waker = createWaker();
  /** Aborted when the stream must end for a reason other than `signal`: an error, or a lost membership. */
  const over = new AbortController();
  const finishing = new AbortController();
  /** The `performance.now()` at which the stream ends, even if events are unacked. */
  let finishedAt = Infinity;
  const resting = createShardRest(REST_MS);
  /** The shard that is being read. */
  let reading: number | undefined;

  const stopWakes = log.onWake(stir);
  signal.addEventListener("abort", waker.wake, { once: true });

  const leases = holdLeases({
    leases: { ...log, join: (who, isNew) => log.join(who, isNew, performance.now() - enteredAt) },
    member,
    signal: AbortSignal.any([signal, finishing.signal]),
    work,
    isBusy: (shard) => inFlight.has(shard) || (reading === shard && held.has(shard)),
    onRenewed: stir,
    onRefused: forget,
    onNotJoined: end,
    onFault: end,
  });

  /** Ends the stream, with an error or with the reason for the lost membership. */
  function end(reason: unknown): void {
    over.abort(reason);
    waker.wake();
  }

  function stir(shard: number): void {
    const state = held.get(shard);
    if (state === undefined) return;
    state.stirred = true;
    waker.wake();
  }

  /** Follows a shard until its lease must be released or is lost. */
  async function work(lease: Lease): Promise<void> {
    const { shard } = lease;
    const state = followShard(log, member, lease);
    held.set(shard, state);
    waker.wake();
    await once(lease.stopping, "abort");
    if (held.get(shard) === state) held.delete(shard);
    // If the lease was lost, the events in flight are kept: their acks still count, and the stream may acquire
    // the lease again.
    if (lease.isOver()) return;
    inFlight.forget(shard);
    // Acks are written before the lease is released, so that the next holder does not redeliver acked events.
    await acks.write(shard);
  }

  /**
   * Whether the shard must be skipped now: the shard's server is unavailable, or the shard's lease must be
   * acquired first.
   */
  function rests(shard: number): boolean {
    return resting.has(shard) || (held.get(shard)?.lease.isOver() ?? true);
  }

  function isDraining(shard: number): boolean {
    return held.get(shard)?.lease.state === "draining";
  }

  /** The number of events that can be delivered now. */
  function room(): number {
    return options.isBehind() ? 0 : window - inFlight.size;
  }

  /** Whether redelivery skips a shard: the shard rests, or the consumer is behind and the shard is not draining. */
  function isLeftOut(shard: number): boolean {
    return rests(shard) || (options.isBehind() && !isDraining(shard));
  }

  /**
   * Stops following a shard, because another stream may hold its lease. `holdLeases` tries to acquire the lease again
   * later.
   */
  function forget(shard: number): void {
    leases.lose(shard);
    held.delete(shard);
    inFlight.forget(shard);
  }

  async function writeAcks(): Promise<void> {
    const due = acks.shards.filter((shard) => !resting.has(shard));
    await Promise.all(due.map((shard) => resting.ask(shard, () => acks.write(shard))));
  }

  function send(shard: number, entries: readonly LogEntry[]): void {
    for (const entry of entries) {
      // After a lost answer, all unacked entries are read again. Some of these may already have been delivered or
      // acked.
      if (inFlight.isOut(shard, entry.entryId) || acks.has(shard, entry.entryId)) continue;
      inFlight.add(shard, entry);
      options.deliver(deliveryId(shard, entry.entryId), entry);
    }
  }

  async function sendOverdue(): Promise<void> {
    for (let due = inFlight.overdue(isLeftOut); due !== undefined; due = inFlight.overdue(isLeftOut)) {
      const { shard, entryIds } = due;
      const state = held.get(shard);
      if (state !== undefined && isDraining(shard)) {
        // The next holder redelivers these events. If the shard stays in this stream's share after all, this
        // stream redelivers them.
        inFlight.remove(shard, entryIds);
        state.readFromStart();
        continue;
      }
      const answer = await resting.ask(shard, async () => ({
        entries: await log.readEntries(member, shard, entryIds),
      }));
      if (answer === undefined) continue;
      inFlight.remove(shard, entryIds);
      deliver(shard, state, answer.entries);
    }
  }

  /**
   * Delivers entries if the shard's lease is still valid. Otherwise forgets the shard; the next holder
   * redelivers the entries.
   */
  function deliver(
    shard: number,
    state: FollowedShard | undefined,
    entries: readonly LogEntry[] | undefined,
  ): void {
    const isHeld = state !== undefined && held.get(shard) === state && !state.lease.isOver();
    if (isHeld && entries !== undefined) send(shard, entries);
    else forget(shard);
  }

  async function read(): Promise<void> {
    const line = [...held];
    for (const [shard, state] of line) {
      const count = Math.min(READ_MAX, room());
      if (count <= 0) return;
      if (!mayHaveMore(shard, state) || held.get(shard) !== state) continue;
      // The shard moves to the end of the map, so that a busy shard does not use up all of a small window.
      held.delete(shard);
      held.set(shard, state);
      reading = shard;
      const answer = await resting.ask(shard, async () => ({ entries: await state.read(count) }));
      reading = undefined;
      if (answer !== undefined) deliver(shard, state, answer.entries);
      // The answer was lost, but the store may count the entries in that answer as read.
      else state.readFromStart();
    }
  }

  /** Whether the shard may have events that the stream can read now. */
  function mayHaveMore(shard: number, { stirred, lease }: FollowedShard): boolean {
    return stirred && lease.state === "held" && !rests(shard);
  }

  /** Waits for work. A shard with more events may have to wait until an ack, a deadline or `resume` makes room. */
  async function wait(): Promise<void> {
    if (room() > 0 && [...held].some(([shard, state]) => mayHaveMore(shard, state))) return;
    const nextDeadline = options.isBehind() ? Infinity : inFlight.nextDeadline;
    const untilDueMs = Math.max(1, nextDeadline - performance.now());
    const isSomeResting =
      [...held.keys()].some(rests) || (untilDueMs === 1 && inFlight.overdue(isLeftOut) === undefined);
    await waker.wait(isSomeResting ? REST_MS : Math.min(untilDueMs, WAIT_MAX_MS));
  }

  async function run(): Promise<"stopped" | NotJoined> {
    while (!signal.aborted && !over.signal.aborted && !finishing.signal.aborted) {
      await writeAcks();
      await sendOverdue();
      await read();
      await wait();
    }
    while (!signal.aborted && !over.signal.aborted && inFlight.size > 0) {
      const leftMs = finishedAt - performance.now();
      if (leftMs <= 0) break;
      await waker.wait(leftMs);
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
    // Acks that cannot be stored are lost, and their events are redelivered.
    await writeAcks().catch(() => undefined);
    await leases.close();
  }

  return {
    get inFlight() {
      return inFlight.size;
    },
    ack(deliveryIds) {
      for (const id of deliveryIds) {
        const parsed = parseDeliveryId(id, log.shards);
        // When too many acks are pending, this ack is lost, and its event is redelivered.
        if (parsed === undefined || !acks.add(parsed.shard, parsed.entryId)) continue;
        inFlight.remove(parsed.shard, [parsed.entryId]);
      }
      waker.wake();
    },
    finish() {
      finishedAt = performance.now() + FINISH_WITHIN_MS;
      finishing.abort();
      waker.wake();
    },
    resume: waker.wake,
    ended: live(),
  };
}
