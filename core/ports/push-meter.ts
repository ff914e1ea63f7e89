/** Told how pushing does, as it happens, so what is done with it must cost next to nothing. Times are ms. */
export interface PushMeter {
  /** A first attempt begins, so long after its event was published. */
  waited(ms: number): void;
  /** A further attempt begins, so long after it was due. */
  retried(lateMs: number): void;
  /** How many events wait for their first attempt is asked with this from now on. Returns how to stop that. */
  watch(waiting: () => number): () => void;
}
