import type { Call } from "./lane";

/** Maximum number of addresses that are remembered in a period. Polls from further addresses wait. */
const ADDRESSES_MAX = 4_096;

/**
 * Decides when the unsent calls are sent. A posted event waits only until the end of the turn of the event loop. A poll
 * waits until `pollsEveryMs` after the last departure, so that the polls of many bridges share a message, its call to
 * Redis and the message with their answers.
 *
 * A poll does not wait if its address polled just before: a bridge that catches up page by page, or that polls many
 * workspaces in turn, sends each poll after the answer to the one before.
 */
export class Departures {
  readonly #depart: () => void;
  readonly #pollsEveryMs: number;
  /** The time of the last departure, as a value of `performance.now()`. */
  #departedAt = -Infinity;
  /** Runs while polls wait. */
  #timer: NodeJS.Timeout | undefined;
  #departsSoon = false;
  /** The addresses that have polled since `#since`, and those that polled in the period before. */
  #recent = new Set<string>();
  #before = new Set<string>();
  #since = -Infinity;

  /** @param depart sends the unsent calls */
  constructor(depart: () => void, pollsEveryMs: number) {
    this.#depart = depart;
    this.#pollsEveryMs = pollsEveryMs;
  }

  /** Must be called for each new call. */
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

  /** Notes a poll. Returns whether its address has polled in this period or the one before. */
  #polledBefore(address: string, now: number): boolean {
    // Twice the wait, because the poll before may have waited too.
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
