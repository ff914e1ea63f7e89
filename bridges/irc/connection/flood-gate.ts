export type FloodGate = ReturnType<typeof createFloodGate>;

/**
 * Limits the rate of sent lines, because servers disconnect clients that send too fast. A token bucket: `burst` lines
 * may be sent at once, and then one line per `everyMs`.
 *
 * @param now milliseconds of a monotonic clock
 */
export function createFloodGate(burst: number, everyMs: number, now = () => performance.now()) {
  let tokens = burst;
  let countedAt = now();

  function count(): void {
    const at = now();
    tokens = Math.min(burst, tokens + (at - countedAt) / everyMs);
    countedAt = at;
  }
  function least(reserve: number): number {
    return Math.min(burst, 1 + reserve);
  }
  function take(needed: number): boolean {
    count();
    if (tokens < needed) return false;
    tokens -= 1;
    return true;
  }
  return {
    /**
     * Returns whether a line may be sent now. If so, counts the line. At least `reserve` tokens then remain for other
     * lines, or all tokens but one if the burst is smaller.
     */
    tryTake: (reserve = 0): boolean => take(least(reserve)),
    /**
     * Works like `tryTake`, but can borrow one token when none is left. After borrowing, the next line must wait
     * longer.
     */
    tryBorrow: (): boolean => take(0),
    /** Returns the milliseconds until a line may be sent. */
    waitMs(reserve = 0): number {
      count();
      return Math.max(0, Math.ceil((least(reserve) - tokens) * everyMs));
    },
  };
}
