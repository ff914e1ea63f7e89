import type { WorkspaceRecord } from "./workspaces";

/**
 * Identifies an inbound request. A second request with the same identity is a repeat (see "Idempotency" in the
 * contract).
 */
export type RequestIdentity =
  /** The request id that the bridge sent. */
  | { readonly by: "id"; readonly id: string }
  /** For a request without an id: its signed timestamp (in seconds) and its exact bytes. */
  | { readonly by: "bytes"; readonly timestamp: number; readonly body: Uint8Array };

/** An inbound request that passed checks 1, 3, 4 and 5 of docs/checks.md. */
export interface Append {
  /** The record that checks 3 to 5 used. */
  readonly record: WorkspaceRecord;
  /** The sender's address in canonical form, for check 2; undefined when that check has already passed. */
  readonly address?: string | undefined;
  /**
   * The event to store, or "fault" for an event that breaks a field rule. A request with "fault" only counts against
   * the limits.
   */
  readonly event:
    | {
        readonly identity: RequestIdentity;
        readonly bytes: Uint8Array;
        readonly traceparent?: string | undefined;
      }
    | "fault";
}

export type Appended =
  | { readonly outcome: "stored" }
  | { readonly outcome: "repeated" }
  | { readonly outcome: "fault" }
  /** Not stored: the log has no room for events of this workspace until games have acked earlier events. */
  | { readonly outcome: "full" }
  /** The record has changed since it was read. The caller must repeat the checks from check 3. */
  | { readonly outcome: "stale" }
  /** Rejected by check 2 ("address-limited") or check 6 ("limited"). */
  | { readonly outcome: "address-limited" | "limited"; readonly retryAfterSeconds: number };

/** The log of accepted inbound events. */
export interface InboundLog {
  /**
   * In one step and in this order: performs checks 2 and 6, reports a failed check 7, detects a repeat, and stores the
   * event. The event is durable when the promise resolves. On a cluster, check 2 is a separate step that comes first.
   */
  append(append: Append): Promise<Appended>;
  /** Removes the events of a shard that every group has acked, and the events that are too old. */
  tidy(shard: number): Promise<void>;
  /** Returns the time of the first signed POST to a workspace, in ms since the epoch; undefined when none has arrived. */
  firstAtMs(workspaceId: string): Promise<number | undefined>;
}

/**
 * Events that were removed from the log before every group of followers had acked them, or while no group existed. To
 * reduce the size of the log, core removes only events that at least one group has acked, unless no group exists.
 */
export interface InboundDropped {
  readonly count: number;
  /** The limit that was exceeded: the size of the log or the age of the events. */
  readonly reason: "size" | "age";
  /** The group that lost the largest number of these events; undefined when no group exists. */
  readonly group: string | undefined;
}
