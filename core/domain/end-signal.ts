/** The part of an `AbortSignal` that a waiting task needs. `AbortSignal` and `CallEnd` implement this interface. */
export interface EndSignal {
  readonly aborted: boolean;
  /** Why the signal was aborted; undefined until then. */
  readonly reason: unknown;
  /** Throws `reason` if the signal is already aborted. */
  throwIfAborted(): void;
  /** Calls the listener once, when the signal is aborted. Does nothing if the signal is already aborted. */
  addEventListener(type: "abort", listener: () => void, options: { readonly once: true }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/**
 * Signals the end of one call, in place of an `AbortController`. Node's signals and their listeners survived
 * young-generation garbage collections, and kept the objects of finished calls in memory.
 */
export class CallEnd implements EndSignal {
  #aborted = false;
  #reason: unknown = undefined;
  #listeners: Set<() => void> | undefined;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  addEventListener(_type: "abort", listener: () => void): void {
    if (!this.#aborted) (this.#listeners ??= new Set()).add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners?.delete(listener);
  }

  /**
   * Ends the call, and calls the listeners in the order in which they were added. Only the first call of `abort`
   * counts. A listener must not throw, because the listeners after it would not be called.
   */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    for (const listener of this.#listeners ?? []) listener();
    this.#listeners = undefined;
  }
}
