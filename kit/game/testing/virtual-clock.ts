import type { GameClock } from "../clock";

interface VirtualTimer {
  readonly atMs: number;
  readonly run: () => void;
}

/** A clock whose time passes only when `advance` is called. */
export class VirtualClock implements GameClock {
  #nowMs: number;
  /** The timers, in the order in which they were set. */
  readonly #timers = new Set<VirtualTimer>();

  /** @param startMs the initial time, ms since the epoch */
  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  at(atMs: number, run: () => void): () => void {
    const timer = { atMs, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Runs the timers that become due within `ms`, in the order of their times. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    while (this.#runNext(endMs));
    this.#nowMs = endMs;
  }

  /** Works like `advance`, but awaits `settle` before the first timer and after each timer. */
  async advanceSettled(ms: number, settle: () => Promise<void>): Promise<void> {
    const endMs = this.#nowMs + ms;
    await settle();
    while (this.#runNext(endMs)) await settle();
    this.#nowMs = endMs;
  }

  /**
   * Runs the next timer if it is due at `endMs`. Timers that are due at the same time run in the order in which they
   * were set.
   */
  #runNext(endMs: number): boolean {
    let next: VirtualTimer | undefined;
    for (const timer of this.#timers) if (timer.atMs < (next?.atMs ?? Infinity)) next = timer;
    if (next === undefined || next.atMs > endMs) return false;
    this.#timers.delete(next);
    this.#nowMs = Math.max(this.#nowMs, next.atMs);
    next.run();
    return true;
  }
}
