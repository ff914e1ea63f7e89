import type { RenderedEnvelope } from "../domain/envelope";
import type { OutboundType } from "../../contract/messages";

/** A rendered event to publish to a workspace. */
export interface Publication {
  readonly workspaceId: string;
  /** The empty string when there is none. */
  readonly idempotencyKey: string;
  readonly eventId: string;
  readonly messageId: string;
  readonly expiresAtMs: number | null;
  readonly type: OutboundType;
  /** How a push workspace gets the event: from the queue, with or without retries, or "direct": the caller pushes it. */
  readonly push: "retried" | "once" | "direct";
  readonly envelope: RenderedEnvelope;
}

export type Published =
  | {
      /** "repeated" when the idempotency key is known: the other fields are those of the first publication. */
      readonly outcome: "published" | "repeated";
      readonly eventId: string;
      readonly sequence: number;
      readonly messageId: string;
      readonly expiresAtMs: number | null;
      /** The delivery mode of the workspace; undefined unless `push` of the publication is "direct". */
      readonly mode: "poll" | "push" | undefined;
    }
  | { readonly outcome: "unknown-workspace" };

/** Accepts outbound events. An event is held for a poll workspace and queued for a push workspace. */
export interface OutboundEvents {
  /** Assigns the sequence and appends the event in one step. The event is durable when the promise resolves. */
  publish(publication: Publication): Promise<Published>;
}
