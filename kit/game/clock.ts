import { TIMER_MOST_MS } from "../back-off";

/** The clock of a running game. Tests replace it. */
export interface GameClock {
  /** Returns the time, ms since the epoch. */
  now(): number;
  /** Calls `run` once `now()` has reached `atMs`. Returns a function that cancels the call. */
  at(atMs: number, run: () => void): () => void;
}

/**
 * Longest wait before the clock is read again, ms. If the system clock is set, a timer is late by at most this time.
 */
const READ_AGAIN_MS = Math.min(60_000, TIMER_MOST_MS);

/** The system clock. */
export const SYSTEM_CLOCK: GameClock = {
  now: Date.now,
  at(atMs, run) {
    let timer: NodeJS.Timeout;
    const wait = (): void => {
      const leftMs = atMs - Date.now();
      // Node can call a timer up to 1 ms early.
      timer = setTimeout(
        () => (Date.now() < atMs ? wait() : run()),
        Math.min(Math.max(1, Math.ceil(leftMs)), READ_AGAIN_MS),
      );
    };
    wait();
    return () => clearTimeout(timer);
  },
};
