import type { PushOutcome } from "../domain/delivery";

/** The target and the content of one attempt. */
export interface PushAttempt {
  readonly url: URL;
  readonly eventId: string;
  readonly workspaceId: string;
  /** The Service-Signature header over the envelope. */
  readonly signature: string;
  /** The event's wire bytes. */
  readonly envelope: Uint8Array;
}

/** Steps of an attempt, in order. */
export type AttemptStep = "name" | "address" | "connect" | "tls" | "send" | "status";

/** Pushes on a separate connection and reports each step. */
export interface PushTracer {
  /** Makes one attempt and calls `done` after each step, with details for the owner. Never rejects. */
  trace(attempt: PushAttempt, done: (step: AttemptStep, detail: string) => void): Promise<PushOutcome>;
}
