/** Measures the store. Its methods are called on the hot path, so they must cost next to nothing. */
export interface StoreMeter {
  /**
   * Called after each call of a store function.
   *
   * @param items number of batched requests; undefined for a function that is not batched
   * @param ms duration of the call
   * @param isAnswered false when the call failed
   */
  called(name: string, items: number | undefined, ms: number, isAnswered: boolean): void;
  /** Called when a sequence was assigned. */
  minted(sequence: number): void;
  /** Called when a connection is ready, for the first time or after a reconnection. */
  connected(): void;
  /** Called when a connection is lost or cannot be made. */
  disconnected(): void;
}
