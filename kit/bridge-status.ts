import { errorOf } from "./problem";
import type { WaitingPlace } from "./waiting-places";

export interface BridgeStatus {
  /** Whether the last poll succeeded; in push mode, whether the bridge accepts pushes. */
  readonly isConnected: boolean;
  /** Time of the last successful poll, or of the last accepted push. */
  readonly lastContactAt: Date | undefined;
  /**
   * Message of the last problem. A successful poll in poll mode, and an accepted push, reset `problem` to undefined. In
   * poll mode, `problem` stays while a message waits because the chat refuses it, and until the cursor is saved.
   */
  readonly problem: string | undefined;
  /** The channels and direct conversations whose messages wait because the chat refuses them, at most 20. */
  readonly waiting: readonly WaitingPlace[];
}

/** Whether the service answers polls: not known yet, yes, or no longer. */
type Contact = "unknown" | "answering" | "lost";

/** Keeps the status of a bridge. */
export class StatusKeeper {
  #status: BridgeStatus = { isConnected: false, lastContactAt: undefined, problem: undefined, waiting: [] };
  #contact: Contact = "unknown";
  readonly #report: (problem: Error) => void;
  readonly #onReconnected: () => void;

  /** Passes each problem to `report`. Calls `onReconnected` when the service answers polls again. */
  constructor(report: (problem: Error) => void, onReconnected: () => void = () => undefined) {
    this.#report = report;
    this.#onReconnected = onReconnected;
  }

  get status(): BridgeStatus {
    return this.#status;
  }

  note(change: Partial<BridgeStatus>): void {
    this.#status = { ...this.#status, ...change };
  }

  /** Notes an answered poll or a push. `isSolved` says whether the last problem is solved. */
  reached(isSolved = true): void {
    this.note({ isConnected: true, lastContactAt: new Date(), ...(isSolved && { problem: undefined }) });
  }

  /** Notes that the service answered a poll, or accepts the bridge without polls. */
  answered(): void {
    const wasLost = this.#contact === "lost";
    this.#contact = "answering";
    if (!wasLost) return;
    try {
      this.#onReconnected();
    } catch (error) {
      this.noteProblem(errorOf("onReconnected failed", error));
    }
  }

  /** Notes that the service did not answer a poll as expected. A service that never answered is not lost. */
  unanswered(): void {
    if (this.#contact === "answering") this.#contact = "lost";
  }

  readonly noteProblem = (problem: Error, isConnected = this.#status.isConnected): void => {
    this.note({ isConnected, problem: problem.message });
    this.#report(problem);
  };
}
