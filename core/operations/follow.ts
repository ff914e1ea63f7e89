import { createBell } from "../domain/bell";
import { createShare } from "../domain/share";
import type { FollowLog, LogEntry } from "../ports/follow-log";
import type { Member, NotJoined } from "../ports/leases";
import { StoreUnavailable } from "../ports/store-unavailable";
import { heldSince, readFromStart, type HeldShard } from "./held-shard";
import { createInFlight, deliveryId, parseDeliveryId } from "./in-flight";
import { createPendingAcks } from "./pending-acks";
import { createShardRest } from "./shard-rest";

export interface FollowOptions {
  readonly member: Member;
  /** When the member entered its group, by performance.now(). */
  readonly enteredAt: number;
  /** How many unacked events may be out at once. */
  readonly window: number;
  readonly ackDeadlineMs: number;
  /** Takes an event to the consumer; the same id again is a further attempt. */
  deliver(deliveryId: string, entry: LogEntry): void;
  /** Whether what was delivered still waits to be sent: nothing more is delivered until `resume`. */
  isBehind(): boolean;
  readonly signal: AbortSignal;
}

/** One open stream of a consumer. */
export interface Follower {
  /** Ids that are no ids are ignored. */
  ack(deliveryIds: readonly string[]): void;
  /** Says that the consumer is no longer behind. */
  resume(): void;
  /** How many events are out, unacked. */
  readonly inFlight: number;
  /** Resolves when the stream has ended and let go of its shards: by the signal, or as it is no longer a member. */
  readonly ended: Promise<"stopped" | NotJoined>;
}

const BEAT_MS = 750;
const READ_MAX = 100;
const AWAY_MS = 200;

/**
 * Follows the inbound log for one stream. Call it once its member has entered the group.
 *
 * The stream is a member of its group, has its part of the shards, and runs in turns:
 *
 *   beat    now and then: join, keep the leases of its shards, take those that
 *           became free, and let go of shards that are another's now, once their
 *           events are acked or overdue; the turn does not wait for this;
 *   acks    are written;
 *   overdue events, with the later ones of their workspace, come again in order;
 *   read    of each shard with something new: first what was left unacked by
 *           whoever held it before, then what is new, as the window has room;
 *   wait    for a wake from the store, an ack, the next deadline or beat.
 *
 * What fails because the store is away is tried again a little later, for the
 * shards that it fails for; those on other servers go on. The store refuses to read
 * for a stream that has lost the lease, and what an answer brings is delivered only
 * while the lease is good for sure: a process that was stopped wakes to deliver nothing.
 */
export function follow(log: FollowLog, options: FollowOptions): Follower {
  const { member, enteredAt, window, signal } = options;
  const inFlight = createInFlight(options.ackDeadlineMs);
  const held = new Map<number, HeldShard>();
  const acks = createPendingAcks(log, member.group);
  const bell = createBell();
  let nextBeatAt = 0;
  let fresh = true;
  /** Aborted when the stream is to end of itself: by a fault, or with the reason why it is no longer a member. */
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

  /** That the store is away is no fault: the next beat tries again. */
  function onFault(error: unknown): void {
    if (error instanceof StoreUnavailable) return;
    over.abort(error);
    bell.ring();
  }

  /** Takes, keeps or lets go of a shard. */
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
      // First, or the next holder would send again what was acked.
      await acks.write(shard);
      await log.drop(member, shard);
    }
  }

  /** Nothing is asked for it now: the store is away, or its lease has to be kept first. */
  function rests(shard: number): boolean {
    return away.has(shard) || performance.now() >= (held.get(shard)?.validUntil ?? Infinity);
  }

  /** How many events may be delivered now. */
  function room(): number {
    return options.isBehind() ? 0 : window - inFlight.size;
  }

  /** A consumer that is behind gets nothing again either, but what is another's to deliver is let go of. */
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
      // Read again with what was lost on its way.
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
        // They come again from the next holder, or from here if the shard comes back.
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

  /** Delivers what was read under a lease; when it may be another's by now, it comes again from there. */
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
      // To the end of the line, so that a busy shard does not take all of a small window.
      held.delete(shard);
      held.set(shard, state);
      reading = shard;
      await away.ask(shard, () => readShard(shard, state, count));
      reading = undefined;
      // What an answer had in it that was lost counts as read.
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

  /** Until something is to do. A shard that still stirs waits for room, which an ack, a deadline or `resume` makes. */
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
    // Leases and membership end by themselves when the store is away now.
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
        // Past the bound an ack is lost, and its event comes again.
        if (parsed === undefined || !acks.add(parsed.shard, parsed.entryId)) continue;
        inFlight.remove(parsed.shard, [parsed.entryId]);
      }
      bell.ring();
    },
    resume: bell.ring,
    ended: live(),
  };
}
