import type { WorkspaceRecord } from "./workspaces";

/** What makes two inbound requests the same ("Idempotency"). */
export type RequestIdentity =
  /** The bridge's own request id. */
  | { readonly by: "id"; readonly id: string }
  /** No id: the very same signed request, by its timestamp (in seconds) and bytes. */
  | { readonly by: "bytes"; readonly timestamp: number; readonly body: Uint8Array };

/** An inbound request that passed check 1 and checks 3 to 5. */
export interface Append {
  /** The record that checks 3 to 5 were made with. */
  readonly record: WorkspaceRecord;
  /** The sending address, in canonical form, for check 2; left out when that is made already. */
  readonly address?: string | undefined;
  /** The event to store, or "fault" when it breaks a field rule: then it only counts against the limit. */
  readonly event: { readonly identity: RequestIdentity; readonly bytes: Uint8Array } | "fault";
}

export type Appended =
  | { readonly outcome: "stored" }
  | { readonly outcome: "repeated" }
  | { readonly outcome: "fault" }
  /** The record has changed since it was read: decide again from check 3. */
  | { readonly outcome: "stale" }
  /** By check 2, or by check 6. */
  | { readonly outcome: "address-limited" | "limited"; readonly retryAfterSeconds: number };

/** The log of accepted inbound events. */
export interface InboundLog {
  /**
   * Makes checks 2, 6 and 7, looks for a repetition, and stores, in this order and in one step.
   * Durable when it answers. On a cluster check 2 is a step before the others.
   */
  append(append: Append): Promise<Appended>;
}

/** Events that left the log although a group of followers had not acked them, or no group was there. */
export interface InboundDropped {
  readonly count: number;
  /** The log was as long as it may be, or they were as old as they may be. */
  readonly reason: "size" | "age";
  /** The group that lost them; of several, the one that lost most; undefined when there is none. */
  readonly group: string | undefined;
}
