import { SYSTEM_CLOCK, type GameClock } from "../../kit/game/clock";

interface ClockTimer {
  readonly atMs: number;
  readonly run: () => void;
  cancel: () => void;
}

/** The system clock, plus the time by which `advance` was called. */
export class ShiftedClock implements GameClock {
  #aheadMs = 0;
  readonly #timers = new Set<ClockTimer>();

  now(): number {
    return SYSTEM_CLOCK.now() + this.#aheadMs;
  }

  at(atMs: number, run: () => void): () => void {
    const timer: ClockTimer = { atMs, run, cancel: () => undefined };
    this.#timers.add(timer);
    this.#arm(timer);
    return () => this.#drop(timer);
  }

  /**
   * Moves the clock forward. The timers that become due run in the order of their times, and all see the new time. So
   * an ack deadline passes at most once, even if the clock moves by several deadlines, because the game cannot ack in
   * between.
   */
  advance(ms: number): void {
    this.#aheadMs += ms;
    for (const timer of [...this.#timers].toSorted((a, b) => a.atMs - b.atMs)) {
      if (!this.#timers.has(timer)) continue;
      timer.cancel();
      if (timer.atMs > this.now()) this.#arm(timer);
      else this.#run(timer);
    }
  }

  #arm(timer: ClockTimer): void {
    timer.cancel = SYSTEM_CLOCK.at(timer.atMs - this.#aheadMs, () => this.#run(timer));
  }

  #run(timer: ClockTimer): void {
    this.#timers.delete(timer);
    timer.run();
  }

  #drop(timer: ClockTimer): void {
    timer.cancel();
    this.#timers.delete(timer);
  }
}
