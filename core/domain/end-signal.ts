/** The part of an `AbortSignal` that a waiting task needs. `AbortSignal` and `CallEnd` implement this interface. */
export interface EndSignal {
  readonly aborted: boolean;
  /** The reason of the end; undefined before the end. */
  readonly reason: unknown;
  /** Throws the reason if the end has come. */
  throwIfAborted(): void;
  /** Calls the listener once, at the end. Does nothing if the end has come. */
  addEventListener(type: "abort", listener: () => void, options: { readonly once: true }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/**
 * The end of one call, instead of an `AbortController`. Node's signals and their listeners survived the collections of the
 * young generation, with the objects of finished calls.
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
   * Ends the call, and calls the listeners in the order in which they were added. Only the first end counts. A listener
   * must not throw, because the next listeners would not be called.
   */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    for (const listener of this.#listeners ?? []) listener();
    this.#listeners = undefined;
  }
}
