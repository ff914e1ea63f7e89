import type { Call } from "./lane";

/** Maximum number of addresses that are remembered per period. Polls from further addresses wait. */
const ADDRESSES_MAX = 4_096;

/**
 * Decides when the unsent calls are sent. A posted event waits only until the end of the turn of the event loop. A poll
 * waits until `pollsEveryMs` after the last departure, so that the polls of many bridges share one message to core, one
 * call to Redis and one message with the answers.
 *
 * A poll does not wait if its address has just polled. A bridge that fetches page after page, or polls many workspaces
 * in turn, sends each poll only after the previous answer, so each wait would slow it down.
 */
export class Departures {
  readonly #depart: () => void;
  readonly #pollsEveryMs: number;
  /** The time of the last departure, as a value of `performance.now()`. */
  #departedAt = -Infinity;
  /** Runs while polls wait. */
  #timer: NodeJS.Timeout | undefined;
  #departsSoon = false;
  /** The addresses that have polled since `#since`, and the addresses that polled in the previous period. */
  #recent = new Set<string>();
  #before = new Set<string>();
  #since = -Infinity;

  /** @param depart sends the unsent calls */
  constructor(depart: () => void, pollsEveryMs: number) {
    this.#depart = depart;
    this.#pollsEveryMs = pollsEveryMs;
  }

  /** Schedules the departure of a new call. Must be called for every call. */
  add({ $case, value: { sourceAddress } }: Call): void {
    const now = performance.now();
    const mayWait = $case === "poll" && !this.#polledBefore(sourceAddress, now);
    if (this.#departsSoon) return;
    const waitMs = mayWait ? this.#departedAt + this.#pollsEveryMs - now : 0;
    if (waitMs > 0) {
      this.#timer ??= setTimeout(this.#go, waitMs);
      return;
    }
    this.#departsSoon = true;
    setImmediate(this.#go);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Notes a poll. Returns whether its address has already polled in this period or in the previous one. */
  #polledBefore(address: string, now: number): boolean {
    // Twice the maximum wait, because the previous poll may have waited too.
    const periodMs = 2 * this.#pollsEveryMs;
    if (now - this.#since >= periodMs) {
      this.#before = now - this.#since < 2 * periodMs ? this.#recent : new Set();
      this.#recent = new Set();
      this.#since = now;
    }
    if (this.#recent.has(address)) return true;
    if (this.#recent.size < ADDRESSES_MAX) this.#recent.add(address);
    return this.#before.has(address);
  }

  readonly #go = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#departsSoon = false;
    this.#departedAt = performance.now();
    this.#depart();
  };
}
