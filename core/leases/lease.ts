/**
 * The states of a lease, as one member sees them. docs/leases.md says what happens at each transition.
 *
 *                                 another member's share,
 *              acquired           or the member stops                work finished
 *     (free) ───────────▶ held ──────────────────────────▶ draining ───────────────▶ released (free)
 *                          │ ▲                                │ │
 *                          │ └── this member's share again ───┘ │
 *                          │          (streams only)            │
 *                          └──────── not renewed in time ───────┴──▶ lost
 */
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
   * Aborted when this member no longer holds the lease: nothing new begins, and no outcome of an attempt is recorded.
   */
  readonly over: AbortSignal;
  /**
   * Whether the lease is released or lost, or has expired by this process's clock. After the process was paused,
   * `isOver` returns true before the timer that aborts `over` fires.
   */
  isOver(): boolean;
}
