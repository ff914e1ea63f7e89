import { PUSH_DEADLINE_MS } from "../../contract/numbers";
import { createWaker } from "../domain/waker";
import { LEASE_MS, type Leases, type Member, type NotJoined } from "../ports/leases";
import { StoreUnavailable } from "../ports/store-faults";
import type { Lease, LeaseState } from "./lease";
import { createShare } from "./share";

export interface LeaseHolderOptions {
  readonly leases: Pick<Leases, "shards" | "join" | "leave" | "take" | "drop">;
  readonly member: Member;
  /**
   * Aborted when the member begins to stop, before `close` is called. Once `signal` is aborted, the member
   * acquires no free lease.
   */
  readonly signal?: AbortSignal;
  /**
   * Works on a shard until `lease.stopping` is aborted. Resolves when no work is in progress; the lease is then
   * released. While the work is finished, the lease is renewed for up to `FINISH_WITHIN_MS`. Must begin nothing on the
   * shard after `lease.stopping` or `lease.over` is aborted.
   */
  work(lease: Lease): Promise<void>;
  /**
   * Whether the work on a shard must continue although the shard is in another member's share. While `isBusy` returns
   * true, the lease is renewed.
   */
  isBusy?(shard: number): boolean;
  onRenewed?(shard: number): void;
  /** Called when another member holds the lease of a shard that this member tried to acquire or renew. */
  onRefused?(shard: number): void;
  /** Called when a join fails: another member has replaced this member, or the group is full. */
  onNotJoined?(reason: NotJoined): void;
  /** Called with every error except `StoreUnavailable`. */
  onFault(error: unknown): void;
}

/** Holds the leases of one member. */
export interface LeaseHolder {
  /** The shards whose leases this member holds. */
  readonly held: readonly number[];
  /** Must be called when the store has rejected work on a shard because this member does not hold the lease. */
  lose(shard: number): void;
  /**
   * Leaves the group and releases all leases in parallel. A lease is released when the work on its shard has
   * stopped.
   */
  close(): Promise<void>;
}

const BEAT_MS = 750;
/**
 * Milliseconds for which a lease is renewed after the work on its shard must stop. A push can take this long, and the
 * last renewal leaves time to record its outcome.
 */
const FINISH_WITHIN_MS = PUSH_DEADLINE_MS;
/**
 * A member stops relying on a lease this many milliseconds before the expiry, because answers from the store take time.
 */
const SAFETY_MS = 500;

interface HeldLease extends Lease {
  state: LeaseState;
  /** The `performance.now()` until which no other member can hold the lease. */
  validUntil: number;
  timer: NodeJS.Timeout;
  readonly stopController: AbortController;
  readonly overController: AbortController;
  /** Resolves when the work has ended. */
  worked: Promise<void>;
  released: Promise<void> | undefined;
}

/**
 * Holds the leases of a member's fair share of the shards. Each lease has a `LeaseState`.
 *
 * Every `BEAT_MS`, the holder reports that the member is alive, and renews the member's leases. The holder also
 * acquires free leases, and drains the leases of shards in another member's share. A drained lease is released when
 * the work on its shard has ended. A lease that was not renewed in time is lost. If this process was paused for too
 * long, the late timer finds the lease expired, and the store rejects work without a lease.
 */
export function holdLeases(options: LeaseHolderOptions): LeaseHolder {
  const { leases, member } = options;
  const held = new Map<number, HeldLease>();
  const waker = createWaker();
  let isNew = true;
  const closing = new AbortController();
  const share = createShare({
    shards: leases.shards,
    name: member.name,
    async join() {
      const alive = await leases.join(member, isNew);
      isNew = false;
      if (typeof alive !== "string") return alive;
      options.onNotJoined?.(alive);
      return undefined;
    },
    update,
    onFault,
  });

  /** Acquires, renews or drains the lease of a shard. */
  async function update(shard: number, isMine: boolean): Promise<void> {
    const lease = held.get(shard);
    // The work on the shard is being finished, and `finish` renews the lease.
    if (lease?.released !== undefined) return;
    if (!isMine && options.isBusy?.(shard) !== true) {
      // The release is not awaited, because the next beats would skip the shard while this `update` is pending.
      if (lease !== undefined) void release(lease);
      return;
    }
    if (closing.signal.aborted && lease === undefined) return;
    const validUntil = await take(shard, lease);
    if (validUntil === undefined || lease?.state === "released") return;
    const state = isMine ? "held" : "draining";
    if (lease === undefined || lease.state === "lost") acquire(shard, state, validUntil);
    else renew(lease, state, validUntil);
  }

  /**
   * Asks the store for the lease of a shard, which this member may hold. Returns the `performance.now()` until which the
   * answer can be relied on, or undefined if another member holds the lease or the answer was too late.
   */
  async function take(shard: number, lease: HeldLease | undefined): Promise<number | undefined> {
    const validUntil = performance.now() + LEASE_MS - SAFETY_MS;
    const isTaken = await leases.take(member, shard);
    // If the answer arrives after this member's lease has expired, that lease is lost, and the answer counts for a
    // new lease. If the new lease has expired too, the next beat tries again.
    if (lease !== undefined && (!isTaken || lease.isOver())) lose(lease);
    if (!isTaken) options.onRefused?.(shard);
    return isTaken && performance.now() < validUntil ? validUntil : undefined;
  }

  function acquire(shard: number, state: LeaseState, validUntil: number): void {
    const stopController = new AbortController();
    const overController = new AbortController();
    const lease: HeldLease = {
      shard,
      token: member.token,
      state,
      validUntil,
      stopController,
      stopping: stopController.signal,
      overController,
      over: overController.signal,
      isOver: () => overController.signal.aborted || performance.now() >= lease.validUntil,
      timer: setTimeout(check, validUntil - performance.now()),
      worked: Promise.resolve(),
      released: undefined,
    };
    held.set(shard, lease);
    lease.worked = options.work(lease).catch((error: unknown) => {
      // While the store of a shard is unavailable, `release` cannot drop the lease. So the lease counts as lost here,
      // and expires in the store.
      if (error instanceof StoreUnavailable) lose(lease);
      onFault(error);
    });
    // Work that failed begins again when the lease is acquired again.
    void lease.worked.then(() => release(lease));

    function check(): void {
      const leftMs = lease.validUntil - performance.now();
      if (leftMs <= 0) lose(lease);
      else lease.timer = setTimeout(check, leftMs);
    }
  }

  function renew(lease: HeldLease, state: LeaseState, validUntil: number): void {
    lease.validUntil = validUntil;
    if (lease.released !== undefined) return;
    lease.state = state;
    options.onRenewed?.(lease.shard);
  }

  /** Stops the work on a shard and releases its lease, so that this or another member can acquire the shard again. */
  function release(lease: HeldLease): Promise<void> {
    lease.released ??= (async () => {
      if (held.get(lease.shard) !== lease) return;
      lease.state = "draining";
      lease.stopController.abort();
      // A renewal must not reach the store after the release.
      await finish(lease);
      // The lease was lost meanwhile. If the shard was acquired again, the new lease must stay.
      if (held.get(lease.shard) !== lease) return;
      end(lease, "released");
      await leases.drop(member, lease.shard).catch(onFault);
    })();
    return lease.released;
  }

  /** Resolves when the work on a shard has ended. Until then, renews the lease, so that outcomes can be recorded. */
  async function finish(lease: HeldLease): Promise<void> {
    const waker = createWaker();
    const worked = new AbortController();
    worked.signal.addEventListener("abort", waker.wake, { once: true });
    void lease.worked.then(() => worked.abort());
    const until = performance.now() + FINISH_WITHIN_MS;
    const renewedAt = lease.validUntil - LEASE_MS + SAFETY_MS;
    await waker.wait(Math.max(0, renewedAt + BEAT_MS - performance.now()));
    while (!worked.signal.aborted && !lease.over.aborted && performance.now() < until) {
      const validUntil = await take(lease.shard, lease).catch(onFault);
      if (validUntil !== undefined && !lease.over.aborted) renew(lease, "draining", validUntil);
      // The answer came too late, so nobody would release this new lease.
      else if (validUntil !== undefined && !held.has(lease.shard))
        await leases.drop(member, lease.shard).catch(onFault);
      await waker.wait(BEAT_MS);
    }
    await lease.worked;
  }

  function lose(lease: HeldLease | undefined): void {
    if (lease !== undefined && held.get(lease.shard) === lease) end(lease, "lost");
  }

  function end(lease: HeldLease, state: "released" | "lost"): void {
    clearTimeout(lease.timer);
    held.delete(lease.shard);
    lease.state = state;
    lease.stopController.abort();
    lease.overController.abort();
  }

  /** Reports an error. `StoreUnavailable` is not reported, because the next beat retries. */
  function onFault(error: unknown): void {
    if (!(error instanceof StoreUnavailable)) options.onFault(error);
  }

  const beating = (async () => {
    while (!closing.signal.aborted) {
      await share.beat();
      if (!closing.signal.aborted) await waker.wait(BEAT_MS);
    }
  })();

  options.signal?.addEventListener("abort", endBeats, { once: true });

  function endBeats(): void {
    closing.abort();
    waker.wake();
  }

  async function close(): Promise<void> {
    endBeats();
    await beating;
    await share.idle();
    // `leave` is called first, so that other members can acquire each shard as soon as this member releases the shard.
    const left = leases.leave(member).catch(onFault);
    await Promise.all([left, ...[...held.values()].map(release)]);
  }

  let closed: Promise<void> | undefined;
  return {
    get held() {
      return [...held.keys()];
    },
    lose: (shard) => lose(held.get(shard)),
    close: () => (closed ??= close()),
  };
}
