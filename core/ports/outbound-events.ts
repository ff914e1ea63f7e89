import type { OutboundType } from "../../contract/messages";
import type { RenderedEnvelope } from "../domain/envelope";
import type { WorkspaceRecord } from "./workspaces";

/** Conditions that must still hold when an event is stored. */
export interface Fence {
  readonly group: string;
  /** The token of the stream that must hold the lease of the workspace's shard. */
  readonly token: string;
  /**
   * The delivery that must be unacked, and whose last attempt must be `attempt`. Undefined if no delivery caused the
   * event.
   */
  readonly delivery: { readonly entryId: string; readonly attempt: number } | undefined;
}

/** A rendered event to publish to a workspace. */
export interface Publication {
  readonly workspaceId: string;
  /** The empty string for a publication without a key. */
  readonly idempotencyKey: string;
  readonly eventId: string;
  readonly messageId: string;
  /** The name of the token that published the event. */
  readonly publisher?: string;
  readonly expiresAtMs: number | null;
  readonly type: OutboundType;
  /**
   * How the event reaches a push workspace. "retried": from the queue, with retries. "once": from the queue, without
   * retries. "direct": the caller pushes the event.
   */
  readonly push: "retried" | "once" | "direct";
  readonly envelope: RenderedEnvelope;
  /** The trace context to store with an event that will be pushed; undefined when the event is not traced. */
  readonly traceparent?: string | undefined;
  readonly fence?: Fence | undefined;
}

export type Published =
  | {
      /**
       * "repeated" if the idempotency key was used before. The ids, the sequence and the expiry are then those of the
       * first publication.
       */
      readonly outcome: "published" | "repeated";
      readonly eventId: string;
      readonly sequence: number;
      readonly messageId: string;
      readonly expiresAtMs: number | null;
      /** The delivery mode of the workspace, for a published event whose `push` is "direct"; otherwise undefined. */
      readonly mode: "poll" | "push" | undefined;
    }
  | { readonly outcome: "unknown-workspace" }
  /** Not stored: the stream or the delivery of the fence is no longer current. */
  | { readonly outcome: "stale" }
  /**
   * Not stored: the event would exceed the limit on the held events of the workspace, which already take `bytes` bytes.
   * `waiting` is the number of held events that wait because the bridge does not poll; 0 if the bridge polls.
   */
  | { readonly outcome: "held-full"; readonly bytes: number; readonly waiting: number }
  /** Not stored: the store has no memory left for held events. */
  | { readonly outcome: "store-full" };

/** Accepts outbound events. An event is held for a poll workspace and queued for a push workspace. */
export interface OutboundEvents {
  /** Assigns the sequence and appends the event in one step. The event is durable when the promise resolves. */
  publish(publication: Publication): Promise<Published>;
  /**
   * Publishes several events in order, each as `publish` does. Rejects if `publish` would reject for any of the events.
   */
  publishAll(publications: readonly Publication[]): Promise<readonly Published[]>;
}

/**
 * Where a page starts: at the oldest held event, after a cursor, or after the newest event ("latest"). A page from
 * "latest" is empty.
 */
export type PageStart =
  | { readonly from: "oldest" }
  | { readonly from: "latest" }
  | { readonly from: "after"; readonly cursor: string };

/** A poll that passed checks 3 to 5 of docs/checks.md. */
export interface PageRequest {
  /** The record that checks 3 to 5 used. */
  readonly record: WorkspaceRecord;
  /** The sender's address in canonical form, for check 2; undefined when that check has already passed. */
  readonly address?: string | undefined;
  /**
   * The page to read, or "count" for a poll that will be rejected. For "count", the poll reads no page, but still
   * counts against the limits.
   */
  readonly page: { readonly start: PageStart; readonly limit: number } | "count";
}

export type PageAnswer =
  | {
      readonly outcome: "page";
      /** The bytes of each event, as sent to the bridge. */
      readonly events: readonly Buffer[];
      /**
       * The sequence of the last event on the page. For a page from "latest", this is the sequence of the newest event.
       * For any other empty page, it is undefined.
       */
      readonly last: string | undefined;
      readonly hasMore: boolean;
      /** Whether events after the request's cursor expired before the page was read. */
      readonly gap: boolean;
      /**
       * Present only for a large page. Must be called when the page has been sent or dropped. Until then, but for at
       * most 5 seconds, core reads no other large page of the workspace. Core may also delay the next page to limit the
       * workspace's pace.
       */
      readonly release?: () => void;
    }
  | { readonly outcome: "counted" }
  /** The record has changed since it was read. The caller must repeat the checks from check 3. */
  | { readonly outcome: "stale" }
  /** Rejected by check 2 ("address-limited") or check 6 ("limited"). */
  | { readonly outcome: "address-limited" | "limited"; readonly retryAfterSeconds: number };

/** Events held for polling bridges. */
export interface HeldEvents {
  /** Performs checks 2 and 6, then reads the page. On a cluster, check 2 is a separate step before check 6. */
  page(request: PageRequest): Promise<PageAnswer>;
}
