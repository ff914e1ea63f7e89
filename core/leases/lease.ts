/** The states of a lease, as the work on its shard sees them. A lease that is finishing also counts as "draining". */
export type LeaseState = "held" | "draining" | "released" | "lost";

/** A lease that this member acquired, on one shard. */
export interface Lease {
  readonly shard: number;
  /** Proves to the store that this member holds the lease. */
  readonly token: string;
  readonly state: LeaseState;
  /**
   * Aborted when the work on the shard must stop: no new work begins, and the work in progress is finished. Meanwhile,
   * the lease is renewed for a limited time.
   */
  readonly stopping: AbortSignal;
  /**
   * Aborted when this member no longer holds the lease: no new work begins, and no outcome of an attempt is recorded.
   */
  readonly over: AbortSignal;
  /**
   * Whether the lease is released or lost, or has expired by this process's clock. After the process was paused,
   * `isOver` returns true before the timer that aborts `over` fires.
   */
  isOver(): boolean;
}

type State = LeaseState | "finishing";

const NEXT: Readonly<Record<State, readonly State[]>> = {
  held: ["draining", "finishing", "lost"],
  draining: ["held", "finishing", "lost"],
  finishing: ["released", "lost"],
  released: [],
  lost: [],
};

/**
 * The life of a lease, as the member that acquired the lease sees it. docs/leases.md says what happens at each
 * transition.
 *
 *             another member's share, but busy
 *      ┌───────────────────────────────────────────┐
 *      │         this member's share again         ▼
 *    held ◀─────────────────────────────────── draining
 *      │                                           │
 *      │ idle in another member's share,           │ no longer busy, or
 *      │ or the member stops, or the work failed   │ the member stops, or the work failed
 *      └───────────────▶ finishing ◀───────────────┘
 *                            │ the work ended
 *                            ▼
 *                        released
 *
 *    held, draining, finishing ── not renewed in time, or acquired by another member ──▶ lost
 */
export class ShardLease implements Lease {
  /** Resolves when the work has ended, and the lease is released or lost. */
  served: Promise<void> = Promise.resolve();
  #state: State = "held";
  #validUntil: number;
  #timer: NodeJS.Timeout;
  readonly #stop = new AbortController();
  readonly #over = new AbortController();
  readonly stopping = this.#stop.signal;
  readonly over = this.#over.signal;

  constructor(
    readonly shard: number,
    readonly token: string,
    validUntil: number,
  ) {
    this.#validUntil = validUntil;
    this.#timer = setTimeout(this.#check, validUntil - performance.now());
  }

  get state(): LeaseState {
    return this.#state === "finishing" ? "draining" : this.#state;
  }

  get isFinishing(): boolean {
    return this.#state === "finishing";
  }

  /** The `performance.now()` time until which no other member can acquire the lease. */
  get validUntil(): number {
    return this.#validUntil;
  }

  /** Whether the lease is neither released nor lost. */
  get isOpen(): boolean {
    return !this.over.aborted;
  }

  readonly isOver = (): boolean => this.over.aborted || performance.now() >= this.#validUntil;

  /** @param isMine whether the shard is in this member's share */
  renew(validUntil: number, isMine: boolean): void {
    this.#validUntil = validUntil;
    const next = isMine ? "held" : "draining";
    if (!this.isFinishing && this.#state !== next) this.#enter(next);
  }

  /** Makes the work on the shard stop. */
  finish(): void {
    if (this.isOpen && !this.isFinishing) this.#enter("finishing");
  }

  lose(): void {
    if (this.isOpen) this.#enter("lost");
  }

  /** Must be called when the work has ended. */
  release(): void {
    this.#enter("released");
  }

  #enter(next: State): void {
    if (!NEXT[this.#state].includes(next)) {
      throw new Error(`a lease that is ${this.#state} cannot become ${next}`);
    }
    this.#state = next;
    if (next === "held" || next === "draining") return;
    this.#stop.abort();
    if (next === "finishing") return;
    clearTimeout(this.#timer);
    this.#over.abort();
  }

  readonly #check = (): void => {
    const leftMs = this.#validUntil - performance.now();
    if (leftMs <= 0) this.lose();
    else this.#timer = setTimeout(this.#check, leftMs);
  };
}
