/** Told how the store does, as it happens, so what is done with it must cost next to nothing. */
export interface StoreMeter {
  /** A function of the store was called and answered, or not, after `ms`; `items` where requests travel together. */
  called(name: string, items: number | undefined, ms: number, isAnswered: boolean): void;
  /** A sequence was minted. */
  minted(sequence: number): void;
  /** A connection stands: the first time, or again. */
  connected(): void;
  /** A connection broke or could not be made. */
  disconnected(): void;
}
