import type { RenderedEnvelope } from "../domain/envelope";
import type { OutboundType } from "../domain/outbound-event";

/** A rendered event on its way to a workspace. */
export interface Publication {
  readonly workspaceId: string;
  /** Empty for none. */
  readonly idempotencyKey: string;
  readonly eventId: string;
  readonly messageId: string;
  readonly expiresAtMs: number | null;
  readonly type: OutboundType;
  /** How a push workspace gets it: by the queue, with or without retries; or direct: the caller pushes it. */
  readonly push: "retried" | "once" | "direct";
  readonly envelope: RenderedEnvelope;
}

export type Published =
  | {
      /** Repeated: the idempotency key was known, and these are the first publication's. */
      readonly outcome: "published" | "repeated";
      readonly eventId: string;
      readonly sequence: number;
      readonly messageId: string;
      readonly expiresAtMs: number | null;
      /** The delivery mode of the workspace; undefined unless `push` of the publication is direct. */
      readonly mode: "poll" | "push" | undefined;
    }
  | { readonly outcome: "unknown-workspace" };

/** Where outbound events go: held for a poll workspace, queued for a push workspace. */
export interface OutboundEvents {
  /** Mints the sequence and appends in one step; durable when it answers. */
  publish(publication: Publication): Promise<Published>;
}
