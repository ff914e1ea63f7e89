import { createBell } from "../domain/bell";
import { createShare } from "../domain/share";
import { LEASE_MS, type Leases, type Member, StoreUnavailable } from "../ports/store";
import type { Hold } from "./hold";

export interface ShardHolderOptions {
  readonly leases: Leases;
  readonly member: Member;
  /** Works on a shard until a signal of `hold` is aborted. Must not act on the shard after `hold.lost`. */
  work(hold: Hold): Promise<void>;
  report(where: string, error: unknown): void;
}

/** Holds shards for this core. */
export interface ShardHolder {
  readonly held: readonly number[];
  /** Hands over all shards in parallel, each when the work on it has stopped. */
  close(): Promise<void>;
}

const BEAT_MS = 750;
/** Core stops relying on a lease this long before it expires, as answers of the store take time. */
const SAFETY_MS = 500;

/**
 * Holds this core's fair share of the shards, each in one of the states of docs/leases.md:
 *
 *   free ──▶ held ──▶ draining ──▶ released
 *             │          │
 *             └──────────┴──▶ lost
 *
 * Draining: `stopping` is aborted. Lost: `lost` is aborted, too.
 *
 * Every `BEAT_MS` it reports that this core is alive, renews its leases, acquires free ones, and hands over those
 * that are in another core's share. A lease that was not renewed in time counts as lost. That holds after this
 * process was paused, too: the late timer finds the lease expired, and the store rejects work without a lease.
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
      // Not awaited, as the other shards of this beat must not wait for it.
      if (state !== undefined) void release(shard, state).catch(ignoreAway);
      return;
    }
    const asked = performance.now();
    if (!(await leases.take(member, shard))) {
      if (state !== undefined) lose(shard, state);
      return;
    }
    // This core is closing. `close` hands over the shards that were held before.
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

  /** Hands a shard over. The work in progress is finished first, if the lease lasts as long. */
  async function release(shard: number, state: Held): Promise<void> {
    if (state.stopping.signal.aborted) return;
    state.stopping.abort();
    await state.done;
    await letGo(shard, state);
  }

  /** Drops the lease of a shard after the work on it, so that this or another core can acquire it again. */
  async function letGo(shard: number, state: Held): Promise<void> {
    // This lease was lost meanwhile. If the shard was acquired again, that new lease must stay.
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
      // Leave first, so that other cores acquire each shard as soon as its last attempts are finished.
      await leases.leave(member).catch(() => undefined);
      await Promise.allSettled([...held].map(([shard, state]) => release(shard, state)));
    },
  };
}
