import { once } from "node:events";
import { PUSH_DEADLINE_MS } from "../../contract/numbers";
import { createWaker } from "../domain/waker";
import { LEASE_MS, type Leases, type Member, type NotJoined } from "../ports/leases";
import { StoreUnavailable } from "../ports/store-faults";
import { ShardLease, type Lease } from "./lease";
import { createShare, type Share } from "./share";

export interface LeaseHolderOptions {
  readonly leases: Pick<Leases, "shards" | "join" | "leave" | "take" | "drop">;
  readonly member: Member;
  /**
   * Works on a shard until `lease.stopping` is aborted. Resolves when no work is in progress; the lease is then
   * released. While the work is stopping, the lease is renewed for up to `FINISH_WITHIN_MS`. Must not begin anything on
   * the shard after `lease.stopping` or `lease.over` is aborted.
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

/** Milliseconds between heartbeats. */
const BEAT_MS = 750;
/**
 * Milliseconds for which a lease is renewed after the work on its shard must stop. A push can take this long, and the
 * last renewal leaves time to record the outcome of the push.
 */
const FINISH_WITHIN_MS = PUSH_DEADLINE_MS;
/**
 * A member stops relying on a lease this many milliseconds before the expiry, because answers from the store take time.
 */
const SAFETY_MS = 500;

export function holdLeases(options: LeaseHolderOptions): LeaseHolder {
  return new LeaseHolder(options);
}

/**
 * Holds the leases of a member's fair share of the shards.
 *
 * Every `BEAT_MS`, the holder reports that the member is alive, and renews the member's leases. The holder also
 * acquires free leases, and drains the leases of shards in another member's share. A lease that was not renewed in
 * time is lost. If this process was paused for too long, the lease's timer fires late. The timer then finds the lease
 * expired, and the store rejects work without a lease.
 */
export class LeaseHolder {
  readonly #options: LeaseHolderOptions;
  readonly #share: Share;
  /** The latest lease that this member acquired on each shard, even if that lease is released or lost. */
  readonly #last = new Map<number, ShardLease>();
  readonly #waker = createWaker();
  readonly #closing = new AbortController();
  readonly #beating: Promise<void>;
  #closed: Promise<void> | undefined;

  constructor(options: LeaseHolderOptions) {
    const { leases, member, onNotJoined } = options;
    this.#options = options;
    let isNew = true;
    this.#share = createShare({
      shards: leases.shards,
      name: member.name,
      async join() {
        const alive = await leases.join(member, isNew);
        isNew = false;
        if (typeof alive !== "string") return alive;
        onNotJoined?.(alive);
        return undefined;
      },
      update: (shard, isMine) => this.#update(shard, isMine),
      onFault: this.#onFault,
    });
    this.#beating = this.#beat();
  }

  /** The shards whose leases this member holds. */
  get held(): readonly number[] {
    return this.#open.map(({ shard }) => shard);
  }

  /** Must be called when the store has rejected work on a shard because this member does not hold the lease. */
  lose(shard: number): void {
    this.#last.get(shard)?.lose();
  }

  /** Must be called when the member begins to stop. After this call, the member acquires no more free leases. */
  endBeats(): void {
    this.#closing.abort();
    this.#waker.wake();
  }

  /**
   * Leaves the group and releases all leases in parallel. A lease is released when the work on its shard has
   * stopped.
   */
  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    const { leases, member } = this.#options;
    this.endBeats();
    await this.#beating;
    await this.#share.idle();
    // `leave` is called first, so that other members can acquire each shard as soon as this member releases the shard.
    const left = leases.leave(member).catch(this.#onFault);
    const open = this.#open;
    for (const lease of open) lease.finish();
    await Promise.all([left, ...open.map(({ served }) => served)]);
  }

  async #beat(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      await this.#share.beat();
      if (!this.#closing.signal.aborted) await this.#waker.wait(BEAT_MS);
    }
  }

  get #open(): readonly ShardLease[] {
    return [...this.#last.values()].filter(({ isOpen }) => isOpen);
  }

  /** Acquires, renews or drains the lease of a shard. */
  async #update(shard: number, isMine: boolean): Promise<void> {
    const last = this.#last.get(shard);
    const lease = last?.isOpen ? last : undefined;
    // `#serve` renews the lease.
    if (lease?.isFinishing) return;
    if (!isMine && this.#options.isBusy?.(shard) !== true) return lease?.finish();
    if (this.#closing.signal.aborted && lease === undefined) return;
    const validUntil = await this.#take(shard, lease);
    if (validUntil === undefined || lease?.state === "released") return;
    if (lease === undefined || lease.state === "lost") return this.#acquire(shard, isMine, validUntil);
    lease.renew(validUntil, isMine);
    if (!lease.isFinishing) this.#options.onRenewed?.(shard);
  }

  /**
   * Asks the store for the lease of a shard, which this member may already hold. Returns the `performance.now()` time
   * until which the answer can be relied on, or undefined if another member holds the lease or the answer was too late.
   */
  async #take(shard: number, lease: ShardLease | undefined): Promise<number | undefined> {
    const validUntil = performance.now() + LEASE_MS - SAFETY_MS;
    const isTaken = await this.#options.leases.take(this.#options.member, shard);
    // If the answer arrives after this member's lease has expired, that lease is lost, and the answer begins a new
    // lease. If the new lease has expired too, the next beat tries again.
    if (!isTaken || lease?.isOver()) lease?.lose();
    if (!isTaken) this.#options.onRefused?.(shard);
    return isTaken && performance.now() < validUntil ? validUntil : undefined;
  }

  #acquire(shard: number, isMine: boolean, validUntil: number): void {
    const lease = new ShardLease(shard, this.#options.member.token, validUntil);
    lease.renew(validUntil, isMine);
    this.#last.set(shard, lease);
    lease.served = this.#serve(lease);
  }

  /** Works on a shard until its lease must be released or is lost. Then this or another member can acquire the shard. */
  async #serve(lease: ShardLease): Promise<void> {
    const worked = this.#options.work(lease).catch((error: unknown) => {
      // While the store of a shard is unavailable, the lease cannot be released. So this member counts the lease as
      // lost, and the lease expires in the store.
      if (error instanceof StoreUnavailable) lease.lose();
      this.#onFault(error);
    });
    await Promise.race([worked, once(lease.stopping, "abort")]);
    // If the work failed, it begins again when the lease is acquired again.
    lease.finish();
    // A renewal must not reach the store after the release.
    if (lease.isOpen) await this.#renewUntil(worked, lease);
    await worked;
    if (!lease.isOpen) return;
    lease.release();
    await this.#drop(lease);
  }

  /** Renews a lease until the work on its shard has ended, so that outcomes can be recorded. */
  async #renewUntil(ended: Promise<void>, lease: ShardLease): Promise<void> {
    const waker = createWaker();
    const worked = new AbortController();
    worked.signal.addEventListener("abort", waker.wake, { once: true });
    void ended.then(() => worked.abort());
    const until = performance.now() + FINISH_WITHIN_MS;
    await waker.wait(Math.max(0, lease.validUntil - LEASE_MS + SAFETY_MS + BEAT_MS - performance.now()));
    while (!worked.signal.aborted && lease.isOpen && performance.now() < until) {
      const validUntil = await this.#take(lease.shard, lease).catch(this.#onFault);
      if (validUntil !== undefined && lease.isOpen) lease.renew(validUntil, false);
      // The answer came too late, and started a new lease in the store. Nothing else would release that lease.
      else if (validUntil !== undefined && !this.#last.get(lease.shard)?.isOpen) await this.#drop(lease);
      await waker.wait(BEAT_MS);
    }
  }

  async #drop({ shard }: Lease): Promise<void> {
    await this.#options.leases.drop(this.#options.member, shard).catch(this.#onFault);
  }

  /** Reports an error. `StoreUnavailable` is not reported, because the next beat retries. */
  readonly #onFault = (error: unknown): void => {
    if (!(error instanceof StoreUnavailable)) this.#options.onFault(error);
  };
}
