import type { Call } from "./lane";

/**
 * Decides when the next message to core departs. A posted event waits only until the end of the turn of the event loop. A
 * poll waits until `pollsEveryMs` after the last message, so that the polls of many bridges share a message, its call to
 * Redis and the message with their answers.
 *
 * A poll of the workspace that polled last does not wait either: its bridge is probably catching up, page by page.
 */
export class Departures {
  readonly #depart: () => void;
  readonly #pollsEveryMs: number;
  /** When the last message departed, as a value of `performance.now()`. */
  #lastMs = -Infinity;
  #lastPolled = "";
  #waits: NodeJS.Timeout | undefined;
  #endsTurn = false;

  /** @param depart writes the next message */
  constructor(depart: () => void, pollsEveryMs: number) {
    this.#depart = depart;
    this.#pollsEveryMs = pollsEveryMs;
  }

  /** Must be called for each call that is added to a message. */
  add({ $case, value: { workspaceId } }: Call): void {
    const mayWait = $case === "poll" && workspaceId !== this.#lastPolled;
    if ($case === "poll") this.#lastPolled = workspaceId;
    if (this.#endsTurn) return;
    const restMs = mayWait ? this.#lastMs + this.#pollsEveryMs - performance.now() : 0;
    if (restMs > 0) {
      this.#waits ??= setTimeout(this.#go, restMs);
      return;
    }
    this.#endsTurn = true;
    setImmediate(this.#go);
  }

  stop(): void {
    clearTimeout(this.#waits);
  }

  readonly #go = (): void => {
    clearTimeout(this.#waits);
    this.#waits = undefined;
    this.#endsTurn = false;
    this.#lastMs = performance.now();
    this.#depart();
  };
}
