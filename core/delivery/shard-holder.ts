import { createBell } from "../domain/bell";
import { createShare } from "../domain/share";
import { LEASE_MS, type Leases, type Member } from "../ports/leases";
import { StoreUnavailable } from "../ports/store-unavailable";
import type { Hold } from "./hold";

export interface ShardHolderOptions {
  readonly leases: Leases;
  readonly member: Member;
  /** Works on a shard until its signal; it must not act on the shard afterwards. */
  work(hold: Hold): Promise<void>;
  report(where: string, error: unknown): void;
}

/** The shards that this core holds. */
export interface ShardHolder {
  readonly held: readonly number[];
  /** Hands every shard over at once, when the work on it has stopped. */
  close(): Promise<void>;
}

const BEAT_MS = 750;
/** A lease is not relied on for the last part of its life: answers of the store take time. */
const SAFETY_MS = 500;

/**
 * Holds this core's fair part of the shards. Every BEAT_MS it says that it is
 * alive, keeps its leases, takes those that became free and lets go of those that
 * are another core's. A lease that could not be kept in time counts as lost, also
 * when this process was stopped meanwhile and wakes up later: a timer that is late
 * finds its lease run out, and the store refuses what is done without one.
 */
export function holdShards({ leases, member, work, report }: ShardHolderOptions): ShardHolder {
  interface Held {
    readonly stopping: AbortController;
    readonly lost: AbortController;
    done: Promise<void>;
    validUntil: number;
    watch: NodeJS.Timeout;
  }
  const held = new Map<number, Held>();
  const bell = createBell();
  let fresh = true;
  const closing = new AbortController();
  const share = createShare({
    shards: leases.shards,
    name: member.name,
    async join() {
      const alive = await leases.join(member, fresh);
      fresh = false;
      return typeof alive === "string" ? undefined : alive;
    },
    settle,
    onFault: ignoreAway,
  });

  async function settle(shard: number, mine: boolean): Promise<void> {
    const state = held.get(shard);
    if (!mine) {
      // Not waited for: the beat goes on for the other shards.
      if (state !== undefined) void release(shard, state).catch(ignoreAway);
      return;
    }
    const asked = performance.now();
    if (!(await leases.take(member, shard))) {
      if (state !== undefined) lose(shard, state);
      return;
    }
    // One that was held before is handed over when the work on it has stopped.
    if (closing.signal.aborted && state === undefined) return leases.drop(member, shard);
    const validUntil = asked + LEASE_MS - SAFETY_MS;
    if (state === undefined) begin(shard, validUntil);
    else state.validUntil = validUntil;
  }

  function begin(shard: number, validUntil: number): void {
    const stopping = new AbortController();
    const lost = new AbortController();
    const watch = setTimeout(check, validUntil - performance.now());
    const state: Held = { stopping, lost, done: Promise.resolve(), validUntil, watch };
    held.set(shard, state);
    const hold: Hold = {
      shard,
      token: member.token,
      stopping: stopping.signal,
      lost: lost.signal,
      isOver: () => lost.signal.aborted || performance.now() >= state.validUntil,
    };
    state.done = work(hold).catch((error: unknown) => {
      report("shard", error);
      return letGo(shard, state).catch(ignoreAway);
    });

    function check(): void {
      const left = state.validUntil - performance.now();
      if (left <= 0) lose(shard, state);
      else state.watch = setTimeout(check, left);
    }
  }

  function lose(shard: number, state: Held): void {
    clearTimeout(state.watch);
    state.stopping.abort();
    state.lost.abort();
    if (held.get(shard) === state) held.delete(shard);
  }

  /** Hands a shard over: what is under way is finished, for as long as the lease that there is lasts. */
  async function release(shard: number, state: Held): Promise<void> {
    if (state.stopping.signal.aborted) return;
    state.stopping.abort();
    await state.done;
    await letGo(shard, state);
  }

  /** Drops the lease of a shard that nobody works on any more, so that a beat, of this core or another, takes it again. */
  async function letGo(shard: number, state: Held): Promise<void> {
    // Lost meanwhile, and perhaps taken again since: the lease that there is now is not this one's to drop.
    if (held.get(shard) !== state) return;
    lose(shard, state);
    await leases.drop(member, shard);
  }

  function ignoreAway(error: unknown): void {
    if (!(error instanceof StoreUnavailable)) report("leases", error);
  }

  const running = (async () => {
    while (!closing.signal.aborted) {
      await share.beat();
      if (!closing.signal.aborted) await bell.wait(BEAT_MS);
    }
  })();

  return {
    get held() {
      return [...held.keys()];
    },
    async close() {
      closing.abort();
      bell.ring();
      await running;
      await share.idle();
      // First: the others take what is let go of, while the last attempts on the rest are finished.
      await leases.leave(member).catch(() => undefined);
      await Promise.allSettled([...held].map(([shard, state]) => release(shard, state)));
    },
  };
}
