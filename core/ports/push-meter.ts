/** Told how pushing does, as it happens, so what is done with it must cost next to nothing. Times are ms. */
export interface PushMeter {
  /** A first attempt begins, so long after its event was published. */
  waited(ms: number): void;
  /** A further attempt begins, so long after it was due. */
  retried(lateMs: number): void;
  /** What is in hand is asked with this from now on. Returns how to stop that. */
  watch(inHand: () => PushesInHand): () => void;
}

/** The events of a shard that its core has read from the queue. */
export interface PushesInHand {
  /** How many wait for their first attempt. */
  readonly waiting: number;
  /** The bytes of all of them, those included that are tried or wait for a further attempt. */
  readonly bytes: number;
}
