/** The lease of a shard while this core holds it. */
export interface Hold {
  readonly shard: number;
  /** Proves to the store that this core holds the lease. */
  readonly token: string;
  /** Aborted when core hands the shard over: no work begins, and the work in progress is finished. */
  readonly stopping: AbortSignal;
  /** Aborted when another core may hold the lease: all work on the shard stops. */
  readonly lost: AbortSignal;
  /**
   * Whether the lease has expired, by the clock. After this process was paused, `isOver` is true before
   * the timer that aborts `lost` fires.
   */
  isOver(): boolean;
}
