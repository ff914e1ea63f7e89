import type { WorkspaceRecord } from "./workspaces";

/** Identifies an inbound request. A second request with the same identity is a repeat ("Idempotency"). */
export type RequestIdentity =
  /** The request id that the bridge sent. */
  | { readonly by: "id"; readonly id: string }
  /** For a request without an id: its signed timestamp (in seconds) and its exact bytes. */
  | { readonly by: "bytes"; readonly timestamp: number; readonly body: Uint8Array };

/** An inbound request that passed check 1 and checks 3 to 5. */
export interface Append {
  /** The record that checks 3 to 5 used. */
  readonly record: WorkspaceRecord;
  /** The sender's address in canonical form, for check 2; undefined when that check has already passed. */
  readonly address?: string | undefined;
  /** The event to store, or "fault" for an event that breaks a field rule: it only counts against the limits. */
  readonly event: { readonly identity: RequestIdentity; readonly bytes: Uint8Array } | "fault";
}

export type Appended =
  | { readonly outcome: "stored" }
  | { readonly outcome: "repeated" }
  | { readonly outcome: "fault" }
  /** The record has changed since it was read. The caller must repeat the checks from check 3. */
  | { readonly outcome: "stale" }
  /** Refused by check 2 ("address-limited") or check 6 ("limited"). */
  | { readonly outcome: "address-limited" | "limited"; readonly retryAfterSeconds: number };

/** The log of accepted inbound events. */
export interface InboundLog {
  /**
   * Makes checks 2, 6 and 7, looks for a repeat, and stores the event, in this order and in one step. The event is
   * durable when the promise resolves. On a cluster, check 2 is a separate step before the others.
   */
  append(append: Append): Promise<Appended>;
}

/** Events that were removed from the log before some group of followers acked them, or while no group existed. */
export interface InboundDropped {
  readonly count: number;
  /** The limit that the log reached ("size") or the events reached ("age"). */
  readonly reason: "size" | "age";
  /** The group that lost the most of these events; undefined when no group exists. */
  readonly group: string | undefined;
}
