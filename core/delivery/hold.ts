/** The hold of a shard's lease. */
export interface Hold {
  readonly shard: number;
  /** Proves the hold to the store. */
  readonly token: string;
  /** Aborted when the shard is to be let go of: nothing is begun any more, what is under way is finished. */
  readonly stopping: AbortSignal;
  /** Aborted when the lease may be another's: nothing is done any more. */
  readonly lost: AbortSignal;
  /**
   * Whether the lease may be another's by now, by the time: what a process that was stopped
   * had waited for comes before the timers that abort `lost`.
   */
  isOver(): boolean;
}
