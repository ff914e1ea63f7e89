import { RetryLater } from "chat-bridge-kit";

const RETRY_MS = 1_000;

/** The sent messages that the chat has not yet confirmed or refused, keyed by id. */
export class PendingSends {
  readonly #pending = new Map<string, { resolve(): void; reject(error: Error): void }>();

  get size(): number {
    return this.#pending.size;
  }

  /**
   * Sends a message. Resolves once the message is confirmed. Rejects if the message is refused, or if `signal` is
   * aborted.
   */
  async send(id: string, send: () => Promise<void>, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const onAbort = (): void =>
      this.refuse(id, new RetryLater(RETRY_MS, "the room did not show the message in time"));
    const confirmed = new Promise<void>((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    signal.addEventListener("abort", onAbort, { once: true });
    // The promise can be rejected while the message is still being sent.
    confirmed.catch(() => undefined);
    try {
      await send().catch((error: unknown) => {
        throw new RetryLater(RETRY_MS, `the message was not sent: ${(error as Error).message}`);
      });
      await confirmed;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#pending.delete(id);
    }
  }

  /** Returns whether the id was pending. */
  confirm(id: string): boolean {
    this.#pending.get(id)?.resolve();
    return this.#pending.has(id);
  }

  refuse(id: string, error: Error): void {
    this.#pending.get(id)?.reject(error);
  }

  /**
   * Refuses all pending messages, e.g. because the connection is lost. The kit then sends them again with the same ids.
   */
  refuseAll(reason: string): void {
    for (const { reject } of this.#pending.values()) reject(new RetryLater(RETRY_MS, reason));
  }
}
