import { errorOf } from "./problem";
import type { WaitingPlace } from "./waiting-places";

export interface BridgeStatus {
  /** Whether the last poll succeeded; in push mode, whether the bridge accepts pushes. */
  readonly isConnected: boolean;
  /** Time of the last successful poll, or of the last accepted push. */
  readonly lastContactAt: Date | undefined;
  /**
   * Message of the last problem. An accepted push resets `problem` to undefined. In poll mode, a successful poll does
   * so too, unless a message waits because the chat refuses it, or the cursor is not saved yet.
   */
  readonly problem: string | undefined;
  /** The channels and direct conversations whose messages wait because the chat refuses them, at most 20. */
  readonly waiting: readonly WaitingPlace[];
}

/** Whether the service answers polls: `unknown` until the service first answers, `lost` if it has stopped answering. */
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

  /** Records an answered poll or a push. `isSolved` says whether the last problem is solved. */
  reached(isSolved = true): void {
    this.note({ isConnected: true, lastContactAt: new Date(), ...(isSolved && { problem: undefined }) });
  }

  /** Records that the service answers polls, or that the bridge does not depend on polls (push mode). */
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

  /**
   * Records that the service did not answer a poll as expected. Contact is lost only if the service has answered
   * before.
   */
  unanswered(): void {
    if (this.#contact === "answering") this.#contact = "lost";
  }

  readonly noteProblem = (problem: Error, isConnected = this.#status.isConnected): void => {
    this.note({ isConnected, problem: problem.message });
    this.#report(problem);
  };
}
