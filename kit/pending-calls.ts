import { setTimeout as sleep } from "node:timers/promises";

/** Maximum wait for pending calls, ms. */
const WAIT_MS = 5_000;

/**
 * The pending calls to the chat. They are recorded, because members can answer a message before the call that posts it
 * has returned the message's id.
 */
export class PendingCalls {
  readonly #pending = new Set<Promise<unknown>>();

  /** Adds a call. Returns the same promise. */
  add<T>(call: Promise<T>): Promise<T> {
    this.#pending.add(call);
    const remove = (): void => void this.#pending.delete(call);
    call.then(remove, remove);
    return call;
  }

  /** Resolves when all calls that are now pending have settled, or after 5 seconds. */
  async settled(): Promise<void> {
    if (this.#pending.size === 0) return;
    const late = new AbortController();
    const limit = sleep(WAIT_MS, undefined, { signal: late.signal }).catch(() => undefined);
    await Promise.race([Promise.allSettled(this.#pending), limit]);
    late.abort();
  }
}
