/**
 * Milliseconds between the receipt by the service and the delivery after which an event is late, i.e. part of a
 * backlog.
 */
const LATE_MS = 1_000;
/** Due timers wait this long after a late delivery, ms. */
export const QUIET_MS = 1_000;
/** Longest time for which a due timer waits, ms. */
const WAIT_MOST_MS = 10_000;

/**
 * Decides how long the due timers of a workspace wait for a backlog. After an outage, core delivers events that members
 * sent before the timers were due, so these events come first. For example, a guess that came in time counts, even if
 * the game handles it late.
 */
export class TimerHold {
  #lateAtMs = -Infinity;

  /** Records a delivery, and the time at which the service received its event. */
  note(receivedAtMs: number, nowMs: number): void {
    if (receivedAtMs < nowMs - LATE_MS) this.#lateAtMs = nowMs;
  }

  /**
   * Returns the time up to which timers may run. This time is `nowMs`, unless timers wait for a backlog, or for an
   * event that was given back to core (`isWaiting`).
   */
  until(nowMs: number, isWaiting: boolean): number {
    return !isWaiting && nowMs >= this.#lateAtMs + QUIET_MS ? nowMs : nowMs - WAIT_MOST_MS;
  }

  /** Returns when a timer that is due at `atMs` may run. */
  runsAt(atMs: number, nowMs: number, isWaiting: boolean): number {
    const quietAtMs = isWaiting ? nowMs + QUIET_MS : this.#lateAtMs + QUIET_MS;
    return Math.max(atMs, Math.min(quietAtMs, atMs + WAIT_MOST_MS));
  }
}
