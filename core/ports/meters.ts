/** Measures the store. The methods are called on the hot path, so they must cost next to nothing. */
export interface StoreMeter {
  /**
   * Called after each call of a store function.
   *
   * @param items number of batched requests; undefined for a function that is not batched
   * @param ms duration of the call
   * @param isAnswered false when the call failed
   */
  called(name: string, items: number | undefined, ms: number, isAnswered: boolean): void;
  /** Called with each sequence that the store has assigned. */
  minted(sequence: number): void;
  /** Called when the store rejects a write because the store is full. `why` says what is full, and what to do. */
  rejected(why: string): void;
  /** Called when a connection is ready, for the first time or after a reconnection. */
  connected(): void;
  /** Called when a connection is lost or cannot be made. */
  disconnected(): void;
}

/** Measures pushes. The methods are called on the hot path, so they must cost next to nothing. Times are in ms. */
export interface PushMeter {
  /** Called when a first attempt starts. `ms` is the time since the event was published. */
  waited(ms: number): void;
  /** Called when a retry starts. `lateMs` is the time since the retry was due. */
  retried(lateMs: number): void;
  /**
   * Registers `inHand`, which returns the current `PushesInHand` of one shard. Returns a function that removes
   * `inHand`.
   */
  watch(inHand: () => PushesInHand): () => void;
}

/** The events that core has read from the push queue of one shard and still has in memory. */
export interface PushesInHand {
  /** Number of events that wait for their first attempt. */
  readonly waiting: number;
  /** Bytes of all events in hand, including those in an attempt or waiting for a retry. */
  readonly bytes: number;
}

/** The workspaces whose secrets core cannot decrypt. */
export interface UnreadableSecrets {
  readonly count: number;
  /** Ids of a few of these workspaces. */
  readonly workspaceIds: readonly string[];
  /** Fingerprints of the keys that core lacks for these workspaces, without duplicates. */
  readonly keys: readonly string[];
}
