/** Limits the rate of sent lines, because servers disconnect clients that send faster. */
export interface FloodGate {
  /** Returns whether a line may be sent now. If so, counts the line. */
  tryTake(): boolean;
  /**
   * Works like `tryTake`, but can also return true for one line when no token is left. The next line must then wait
   * longer.
   */
  tryBorrow(): boolean;
  /** Milliseconds until a line may be sent. */
  waitMs(): number;
}

/**
 * Returns a token bucket: `burst` lines may be sent at once, and then one line per `everyMs`.
 *
 * @param now milliseconds of a monotonic clock
 */
export function createFloodGate(burst: number, everyMs: number, now = () => performance.now()): FloodGate {
  let tokens = burst;
  let countedAt = now();

  function count(): void {
    const at = now();
    tokens = Math.min(burst, tokens + (at - countedAt) / everyMs);
    countedAt = at;
  }
  function take(least: number): boolean {
    count();
    if (tokens < least) return false;
    tokens -= 1;
    return true;
  }
  return {
    tryTake: () => take(1),
    tryBorrow: () => take(0),
    waitMs() {
      count();
      return tokens >= 1 ? 0 : Math.ceil((1 - tokens) * everyMs);
    },
  };
}
