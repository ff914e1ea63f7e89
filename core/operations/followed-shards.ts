import { once } from "node:events";
import type { Lease } from "../leases/lease";
import { holdLeases, type LeaseHolder } from "../leases/lease-holder";
import { GIVEN_BACK_MAX } from "../domain/bounds";
import type { DeadLetter, FollowLog, LogEntry, ReadEntries, WindowShare } from "../ports/follow-log";
import type { Member } from "../ports/leases";
import { StoreUnavailable } from "../ports/store-faults";
import { FollowedShard } from "./followed-shard";
import { deliveryId, InFlight } from "./in-flight";
import { isSlow, probablyFitting, readsAfter, type Busy } from "./next-read";
import { largerShare, Pace } from "./pace";
import type { Parking } from "./parked-events";
import { createPendingAcks } from "./pending-acks";
import { placesFor, shareOf } from "./window-share";

export interface FollowOptions {
  readonly member: Member;
  /** The `performance.now()` time at which the member entered its group. */
  readonly enteredAt: number;
  /** The maximum number of events that are delivered and not acked yet. */
  readonly window: number;
  readonly ackDeadlineMs: number;
  readonly parking: Parking;
  /** Called with each event for the consumer. A redelivery of an event has the same `deliveryId`. */
  deliver(deliveryId: string, entry: LogEntry, shard: number): void;
  /**
   * Whether events that were passed to `deliver` still wait to be sent. If so, no further events are read until
   * `isBehind` is false again (backpressure).
   */
  isBehind(): boolean;
  /**
   * Called before the first delivery from a shard that the stream has gained, and after the last delivery from a lost
   * one.
   */
  onAssigned?(shard: number, change: "gained" | "lost"): void;
  /** Called when an event is acked as a dead letter. */
  onDeadLetter?(letter: DeadLetter): void;
}

const READ_MAX = 100;
const REST_MS = 200;
const WAIT_MAX_MS = 1_000;

/**
 * The shards of one stream, which is a member of its group. `holdLeases` acquires leases on the stream's share of the
 * shards. When a shard moves to another stream's share, `holdLeases` keeps the lease until all delivered events of the
 * shard are acked or overdue.
 *
 * While the Redis server of a shard is unavailable, the steps for that shard are retried a little later. Shards
 * on other servers are not affected. The store rejects reads from a stream that has lost the shard's lease. The
 * stream delivers entries only while the lease is certainly valid. So if a lease expires while the process is
 * paused, the stream delivers no entries of that shard until it has acquired the lease again.
 */
export class FollowedShards {
  readonly inFlight: InFlight;
  readonly #acks;
  readonly #pace = new Pace();
  readonly #held = new Map<number, FollowedShard>();
  /** The `performance.now()` time until which a shard is skipped, because its server was unavailable. */
  readonly #restUntil = new Map<number, number>();
  /** The shard that is being read. */
  #reading: number | undefined;
  readonly #log: FollowLog;
  readonly #options: FollowOptions;
  readonly #leases: LeaseHolder;
  readonly #wake: () => void;
  readonly #stopWakes: () => void;

  /**
   * @param wake called when a shard may have work
   * @param onFailed called with an error, or with the reason why the membership was lost
   */
  constructor(log: FollowLog, options: FollowOptions, wake: () => void, onFailed: (reason: unknown) => void) {
    const { member, enteredAt, ackDeadlineMs } = options;
    this.#log = log;
    this.#options = options;
    this.#wake = wake;
    this.inFlight = new InFlight(ackDeadlineMs);
    this.#acks = createPendingAcks(log, member.group, (letter) => options.onDeadLetter?.(letter));
    const stir = (shard: number): void => this.#stir(shard);
    this.#stopWakes = log.onWake(stir);
    this.#leases = holdLeases({
      leases: { ...log, join: (who, isNew) => log.join(who, isNew, performance.now() - enteredAt) },
      member,
      work: (lease) => this.#follow(lease),
      isBusy: (shard) => this.inFlight.has(shard) || (this.#reading === shard && this.#held.has(shard)),
      onRenewed: stir,
      onRefused: (shard) => this.#forget(shard),
      onNotJoined: onFailed,
      onFault: onFailed,
    });
  }

  /** Must be called when the stream begins to stop. */
  endBeats(): void {
    this.#leases.endBeats();
  }

  /** Writes the pending acks, and releases all shards. */
  async release(): Promise<void> {
    this.#stopWakes();
    // Acks that cannot be stored are lost, and their events are redelivered.
    await this.writeAcks().catch(() => undefined);
    await this.#leases.close();
  }

  /** Follows a shard until its lease must be released or is lost. */
  async #follow(lease: Lease): Promise<void> {
    const { shard } = lease;
    const followed = new FollowedShard(lease, this.#options.parking);
    this.#held.set(shard, followed);
    this.#options.onAssigned?.(shard, "gained");
    this.#wake();
    await once(lease.stopping, "abort");
    // The next holder of the lease reads the parked events again, together with the unacked events.
    followed.parked.clear();
    if (this.#held.get(shard) === followed) this.#held.delete(shard);
    this.#options.onAssigned?.(shard, "lost");
    // If the lease was lost, the events in flight are kept: their acks still count, and the stream may acquire
    // the lease again.
    if (lease.isOver()) return;
    this.inFlight.forget(shard);
    // Acks are written before the lease is released, so that the next holder does not redeliver acked events.
    await this.#acks.write(shard);
  }

  #stir(shard: number): void {
    const followed = this.#held.get(shard);
    if (followed === undefined) return;
    followed.stirred = true;
    this.#wake();
  }

  /**
   * Stops following a shard, because another stream may hold its lease. `holdLeases` tries to acquire the lease again
   * later.
   */
  #forget(shard: number): void {
    this.#leases.lose(shard);
    this.#held.delete(shard);
    this.inFlight.forget(shard);
  }

  /** Acks an event. If too many acks are pending, the ack is dropped, and the event is redelivered. */
  ack(shard: number, entryId: string): void {
    if (this.#acks.add(shard, entryId)) this.inFlight.remove(shard, [entryId]);
  }

  extend(shard: number, entryId: string): void {
    this.inFlight.extend(shard, entryId);
  }

  nack(shard: number, entryId: string, delayMs: number): void {
    this.inFlight.nack(shard, entryId, delayMs);
  }

  /** Acks an event as a dead letter. Returns false if the stream does not have the event. */
  deadLetter(shard: number, entryId: string, reason: string): boolean {
    const found = this.inFlight.find(shard, entryId);
    if (found === undefined || !this.#acks.add(shard, entryId, { ...found, shard, entryId, reason }))
      return false;
    this.inFlight.remove(shard, [entryId]);
    return true;
  }

  async writeAcks(): Promise<void> {
    const due = this.#acks.shards.filter((shard) => !this.#isAway(shard));
    await Promise.all(due.map((shard) => this.#ask(shard, () => this.#acks.writePending(shard))));
  }

  async sendOverdue(): Promise<void> {
    for (const [shard, { isDraining }] of this.#held) if (isDraining) this.inFlight.hurry(shard);
    for (let due = this.#nextOverdue(); due !== undefined; due = this.#nextOverdue()) {
      const { shard, entryIds } = due;
      const followed = this.#held.get(shard);
      if (followed?.isDraining) {
        // The next holder redelivers these events. If the shard stays in this stream's share after all, this
        // stream redelivers them.
        this.inFlight.remove(shard, entryIds);
        followed.readFromStart();
        continue;
      }
      const answer = await this.#ask(shard, async () => ({
        entries: await this.#log.readEntries(this.#options.member, shard, entryIds),
      }));
      if (answer === undefined) continue;
      this.inFlight.remove(shard, entryIds);
      this.#deliver(shard, followed, answer.entries && { entries: answer.entries });
    }
  }

  /**
   * Returns the next events to redeliver. Skips the shards for which `#rests` returns true. While the consumer is
   * behind, skips all shards that are not draining. Events that were given back need a place in the window. Events of a
   * draining shard need none, because this stream does not redeliver them.
   */
  #nextOverdue() {
    return this.inFlight.overdue(
      (shard) =>
        this.#rests(shard) || (this.#options.isBehind() && this.#held.get(shard)?.isDraining !== true),
      (shard, inFlight) =>
        this.#held.get(shard)?.isDraining === true ? Infinity : this.#placesFor(inFlight),
    );
  }

  async read(): Promise<void> {
    const line = [...this.#held];
    for (const [shard, followed] of line) {
      if (this.#room <= 0) return;
      if (this.#hasParked(followed)) await this.#readParked(shard, followed);
      // Parked events that have a place are read first, and the log after them, so that few workspaces have parked
      // events.
      const mayReadNext = this.#mayHaveMore(followed) && !this.#hasParked(followed);
      if (this.#room > 0 && mayReadNext) await this.#readNext(shard, followed);
      followed.parked.settle();
    }
  }

  async #readParked(shard: number, followed: FollowedShard): Promise<void> {
    const entryIds = followed.parked.take(this.#shareOf(shard), READ_MAX);
    await this.#readFrom(shard, followed, async () => {
      const entries = await this.#log.readEntries(this.#options.member, shard, entryIds);
      return entries && { entries };
    });
  }

  /** Reads the next events of the shard's log. */
  async #readNext(shard: number, followed: FollowedShard): Promise<void> {
    const { parked } = followed;
    const now = performance.now();
    const busy = this.inFlight.busyIn(shard);
    const share = this.#nextShareOf(followed, busy, now);
    followed.waitsUntil = followed.isReadingNew ? readsAfter(busy, share, now) : now;
    if (followed.waitsUntil > now) return;
    const fitting = probablyFitting(busy, share, followed.busiestPart);
    // While events are parked, the stream looks for later events of other workspaces, so it reads more events than fit.
    const count = parked.size > 0 ? READ_MAX : Math.min(READ_MAX, fitting);
    const hasPlaces = parked.reserve(count);
    followed.isFull = !hasPlaces && parked.size > 0;
    if (followed.isFull) return;
    const counts = new Map(share.counts);
    for (const id of parked.workspaceIds) counts.set(id, Infinity);
    // If other shards and streams use all places for parked events, the stream reads this shard without parking events.
    await this.#readFrom(shard, followed, () =>
      followed.read(this.#log, this.#options.member, count, hasPlaces ? { ...share, counts } : undefined),
    );
  }

  async #readFrom(
    shard: number,
    followed: FollowedShard,
    read: () => Promise<ReadEntries | undefined>,
  ): Promise<void> {
    if (this.#held.get(shard) !== followed) return;
    // The shard moves to the end of the map, so that a busy shard does not use up all of a small window.
    this.#held.delete(shard);
    this.#held.set(shard, followed);
    this.#reading = shard;
    const answer = await this.#ask(shard, async () => ({ read: await read() }));
    this.#reading = undefined;
    if (answer !== undefined) this.#deliver(shard, followed, answer.read);
    // The answer was lost, but the store may count the entries in that answer as read.
    else followed.readFromStart();
  }

  /**
   * Delivers or parks entries if the shard's lease is still valid. Otherwise forgets the shard; the next holder
   * redelivers the entries.
   */
  #deliver(shard: number, followed: FollowedShard | undefined, read: ReadEntries | undefined): void {
    const isHeld = followed !== undefined && this.#held.get(shard) === followed && !followed.lease.isOver();
    if (!isHeld || read === undefined) return this.#forget(shard);
    // After a lost answer, all unacked entries are read again. Some of these may already have been delivered or
    // acked.
    const isKnown = ({ entryId }: { readonly entryId: string }): boolean =>
      this.inFlight.isOut(shard, entryId) || this.#acks.has(shard, entryId);
    for (const entry of read.parked ?? []) if (!isKnown(entry)) followed.parked.add(entry);
    this.#pace.add(read.entries.length, performance.now());
    for (const entry of read.entries) {
      if (isKnown(entry)) continue;
      this.inFlight.add(shard, entry);
      // The consumer gave back an earlier event of the workspace, so this event is delivered after that event.
      if (this.inFlight.isGivenBack(shard, entry.entryId)) continue;
      this.#options.deliver(deliveryId(shard, entry.entryId), entry, shard);
    }
  }

  /**
   * Returns the milliseconds until the stream may have work; 0 if it has work now. A shard with more events may have to
   * wait until an ack, a deadline or `resume` makes room.
   */
  untilWorkMs(): number {
    const shards = [...this.#held.values()];
    const now = performance.now();
    let nextRead = Infinity;
    for (const followed of this.#room > 0 ? shards : []) {
      if (this.#hasParked(followed)) return 0;
      if (!this.#mayHaveMore(followed) || followed.isFull) continue;
      if (followed.waitsUntil <= now) return 0;
      nextRead = Math.min(nextRead, followed.waitsUntil);
    }
    const nextDeadline = this.#options.isBehind() ? Infinity : this.inFlight.nextDeadline;
    const untilDueMs = Math.max(1, nextDeadline - now);
    const isSomeResting =
      shards.some(({ lease }) => this.#rests(lease.shard)) ||
      (untilDueMs === 1 && this.#nextOverdue() === undefined);
    const untilReadMs = Math.max(1, nextRead - now);
    return Math.min(isSomeResting ? REST_MS : untilDueMs, untilReadMs, WAIT_MAX_MS);
  }

  /** The number of events that can be read and delivered now. */
  get #room(): number {
    if (this.#options.isBehind()) return 0;
    const { size, givenBack } = this.inFlight;
    return this.#options.window - size + Math.min(givenBack, GIVEN_BACK_MAX);
  }

  /** The number of given-back events that can be redelivered now, if their workspace has `inFlight` other events. */
  #placesFor(inFlight: number): number {
    const { size, givenBack } = this.inFlight;
    const { window } = this.#options;
    return placesFor(inFlight, shareOf(window, window - size + givenBack, new Map()));
  }

  /** Resolves with the result of `call`, or with undefined if the shard's server is unavailable. */
  async #ask<T>(shard: number, call: () => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await call();
      this.#restUntil.delete(shard);
      return answer;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      this.#restUntil.set(shard, performance.now() + REST_MS);
      return undefined;
    }
  }

  #isAway(shard: number): boolean {
    return (this.#restUntil.get(shard) ?? 0) > performance.now();
  }

  /**
   * Whether the shard must be skipped now: the shard's server is unavailable, or the shard's lease must be
   * acquired first.
   */
  #rests(shard: number): boolean {
    return this.#isAway(shard) || (this.#held.get(shard)?.lease.isOver() ?? true);
  }

  /** Whether the shard may have events that the stream can read now. */
  #mayHaveMore(followed: FollowedShard): boolean {
    return followed.stirred && this.#mayRead(followed);
  }

  /** Whether the shard has parked events that the stream can deliver now. */
  #hasParked(followed: FollowedShard): boolean {
    if (followed.parked.size === 0 || !this.#mayRead(followed)) return false;
    return followed.parked.hasNext(this.#shareOf(followed.lease.shard));
  }

  #mayRead({ lease }: FollowedShard): boolean {
    return lease.state === "held" && !this.#rests(lease.shard);
  }

  /** Returns the share of the window for the next events of a shard's log. */
  #nextShareOf(
    { lease, parked, busiestPart }: FollowedShard,
    busy: readonly Busy[],
    now: number,
  ): WindowShare {
    const { shard } = lease;
    const { window } = this.#options;
    const share = this.#shareOf(shard);
    const isFast =
      this.#pace.isFast(window, this.inFlight.size, now) && !busy.some((each) => isSlow(each, now));
    if (!isFast || parked.size > 0) return share;
    return largerShare(share, window, busiestPart === 1 && this.inFlight.isAlone(shard));
  }

  #shareOf(shard: number): WindowShare {
    const counts = this.inFlight.countsIn(shard);
    // The next events of a workspace are delivered only after its events that were given back.
    for (const id of this.inFlight.givenBackIn(shard)) counts.set(id, Infinity);
    return shareOf(this.#options.window, this.#room, counts);
  }
}
