/** Maximum number of updates that wait to be printed. */
const WAITING_MAX = 500;

/**
 * Updates that are printed after a wait: at most one for each message. If too many updates are waiting, the oldest are
 * dropped.
 */
export class WaitingUpdates<Event> {
  readonly #print: (event: Event) => Promise<void>;
  /** Keyed by the id of the message. */
  readonly #timers = new Map<string, NodeJS.Timeout>();

  /** @param print prints an update, and never rejects */
  constructor(print: (event: Event) => Promise<void>) {
    this.#print = print;
  }

  /** Prints an update after `ms`. If an earlier update of the message is waiting, the new update replaces it. */
  put(messageId: string, event: Event, ms: number): void {
    this.forget(messageId);
    const [oldest] = this.#timers.keys();
    if (oldest !== undefined && this.#timers.size >= WAITING_MAX) this.forget(oldest);
    const due = (): void => {
      this.#timers.delete(messageId);
      void this.#print(event);
    };
    this.#timers.set(messageId, setTimeout(due, ms));
  }

  forget(messageId: string): void {
    clearTimeout(this.#timers.get(messageId));
    this.#timers.delete(messageId);
  }

  close(): void {
    for (const messageId of this.#timers.keys()) this.forget(messageId);
  }
}
