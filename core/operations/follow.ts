import { createBell } from "../domain/bell";
import type { FollowLog, LogEntry } from "../ports/follow-log";
import type { Member } from "../ports/leases";
import { StoreUnavailable } from "../ports/store-unavailable";
import { createInFlight, deliveryId, parseDeliveryId } from "./in-flight";

export interface FollowOptions {
  readonly member: Member;
  /** How many unacked events may be out at once. */
  readonly window: number;
  readonly ackDeadlineMs: number;
  /** Takes an event to the consumer; the same id again is a further attempt. */
  deliver(deliveryId: string, entry: LogEntry): void;
  readonly signal: AbortSignal;
}

/** One open stream of a consumer. */
export interface Follower {
  /** Ids that are no ids are ignored. */
  ack(deliveryIds: readonly string[]): void;
  /** Resolves when the stream has ended and let go of its shards: by the signal, or replaced by a newer one. */
  readonly ended: Promise<"stopped" | "replaced">;
}

const BEAT_MS = 1_000;
const READ_MAX = 100;
const ACK_MAX = 1_000;
const ACKS_WAITING_MAX = 10_000;
const RETRY_AFTER_FAULT_MS = 200;

/** A shard that this stream holds the lease of. */
interface HeldShard {
  /** All that the holder before left unacked was read again. */
  caughtUp: boolean;
  /** Where reading it again goes on; undefined at its beginning. */
  readAgainAfter: string | undefined;
  /** Something may be new. */
  stirred: boolean;
  /** False once the shard is to be another's: it is kept, unread, until its events are acked or overdue. */
  mine: boolean;
}

/**
 * Follows the inbound log for one stream. Call it once the group is open.
 *
 * The stream is a member of its group and takes its fair part of the shards: the
 * n-th of m living members takes every shard that leaves n when divided by m. It
 * runs in turns, one after the other:
 *
 *   beat    every second: join, keep the leases of its shards, take those that
 *           became free, and let go of shards that are another's now, once their
 *           events are acked or overdue;
 *   acks    are written;
 *   overdue events, with the later ones of their workspace, come again in order;
 *   read    of each shard with something new: first what was left unacked by
 *           whoever held it before, then what is new, as the window has room;
 *   wait    for a wake from the store, an ack, the next deadline or beat.
 *
 * Whatever fails because the store is away is tried again in the next turn. A
 * lease that ran out meanwhile is noticed by the store, which refuses to read for
 * a stream that does not hold it.
 */
export function follow(log: FollowLog, options: FollowOptions): Follower {
  const { member, window, signal } = options;
  const inFlight = createInFlight(options.ackDeadlineMs);
  const held = new Map<number, HeldShard>();
  const acks: { shard: number; entryId: string }[] = [];
  const bell = createBell();
  let nextBeatAt = 0;
  let fresh = true;

  const stopWakes = log.onWake((shard) => {
    const state = held.get(shard);
    if (state === undefined) return;
    state.stirred = true;
    bell.ring();
  });
  signal.addEventListener("abort", bell.ring, { once: true });

  async function beat(): Promise<"replaced" | undefined> {
    nextBeatAt = performance.now() + BEAT_MS;
    const alive = await log.join(member, fresh);
    if (alive === undefined) return "replaced";
    fresh = false;
    const place = alive.indexOf(member.name);
    const shards = Array.from({ length: log.shards }, (_, shard) => shard);
    await Promise.all(shards.map((shard) => settle(shard, shard % alive.length === place)));
    return undefined;
  }

  /** Takes, keeps or lets go of a shard. */
  async function settle(shard: number, mine: boolean): Promise<void> {
    const state = held.get(shard);
    if (mine || (state !== undefined && inFlight.has(shard))) {
      if (!(await log.take(member, shard))) forget(shard);
      else if (state === undefined)
        held.set(shard, { caughtUp: false, readAgainAfter: undefined, stirred: true, mine });
      else Object.assign(state, { stirred: true, mine });
    } else if (state !== undefined) {
      forget(shard);
      // First, or the next holder would send again what was acked.
      await writeAcks();
      await log.drop(member, shard);
    }
  }

  function forget(shard: number): void {
    held.delete(shard);
    inFlight.forget(shard);
  }

  async function writeAcks(): Promise<void> {
    while (acks.length > 0) {
      const shard = acks[0]?.shard ?? 0;
      const batch = acks.filter((ack) => ack.shard === shard).slice(0, ACK_MAX);
      await log.ack(
        member.group,
        shard,
        batch.map(({ entryId }) => entryId),
      );
      const written = new Set(batch);
      acks.splice(0, acks.length, ...acks.filter((ack) => !written.has(ack)));
    }
  }

  function send(shard: number, entries: readonly LogEntry[]): void {
    for (const entry of entries) {
      inFlight.add(shard, entry);
      options.deliver(deliveryId(shard, entry.entryId), entry);
    }
  }

  async function sendOverdue(): Promise<void> {
    for (let due = inFlight.overdue(); due !== undefined; due = inFlight.overdue()) {
      const state = held.get(due.shard);
      if (state?.mine === false) {
        // They come again from the next holder, or from here if the shard comes back.
        inFlight.remove(due.shard, due.entryIds);
        Object.assign(state, { caughtUp: false, readAgainAfter: undefined });
        continue;
      }
      const entries = await log.readEntries(member, due.shard, due.entryIds);
      inFlight.remove(due.shard, due.entryIds);
      if (entries === undefined) forget(due.shard);
      else send(due.shard, entries);
    }
  }

  async function read(): Promise<void> {
    const line = [...held];
    for (const [shard, state] of line) {
      const count = Math.min(READ_MAX, window - inFlight.size);
      if (count <= 0) return;
      if (!state.stirred || !state.mine) continue;
      state.stirred = false;
      // To the end of the line, so that a busy shard does not take all of a small window.
      held.delete(shard);
      held.set(shard, state);
      if (!(await readShard(shard, state, count))) forget(shard);
    }
  }

  /** False when the lease is lost. */
  async function readShard(shard: number, state: HeldShard, count: number): Promise<boolean> {
    if (state.caughtUp) {
      const entries = await log.readNew(member, shard, count);
      if (entries === undefined) return false;
      send(shard, entries);
      state.stirred ||= entries.length === count;
      return true;
    }
    const again = await log.readAgain(member, shard, count, state.readAgainAfter);
    if (again === undefined) return false;
    send(shard, again.entries);
    state.readAgainAfter = again.last;
    state.caughtUp = again.last === undefined;
    state.stirred = true;
    return true;
  }

  /** Until something is to do. A shard that still stirs waits for room, which an ack or a deadline makes. */
  async function wait(): Promise<void> {
    const hasRoom = inFlight.size < window;
    if (hasRoom && [...held.values()].some((state) => state.stirred && state.mine)) return;
    await bell.wait(Math.max(1, Math.min(nextBeatAt, inFlight.nextDeadline) - performance.now()));
  }

  async function run(): Promise<"stopped" | "replaced"> {
    while (!signal.aborted) {
      try {
        if (performance.now() >= nextBeatAt && (await beat()) === "replaced") return "replaced";
        await writeAcks();
        await sendOverdue();
        await read();
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        for (const state of held.values()) state.stirred = true;
        await bell.wait(RETRY_AFTER_FAULT_MS);
        continue;
      }
      await wait();
    }
    return "stopped";
  }

  async function live(): Promise<"stopped" | "replaced"> {
    try {
      return await run();
    } finally {
      await letGo();
    }
  }

  async function letGo(): Promise<void> {
    stopWakes();
    // Leases and membership end by themselves when the store is away now.
    await writeAcks().catch(() => undefined);
    const drops = [...held.keys()].map((shard) => log.drop(member, shard));
    await Promise.allSettled([...drops, log.leave(member)]);
  }

  return {
    ack(deliveryIds) {
      for (const id of deliveryIds) {
        const parsed = parseDeliveryId(id, log.shards);
        // Past the bound an ack is lost, and its event comes again.
        if (parsed === undefined || acks.length >= ACKS_WAITING_MAX) continue;
        inFlight.remove(parsed.shard, [parsed.entryId]);
        acks.push(parsed);
      }
      bell.ring();
    },
    ended: live(),
  };
}
