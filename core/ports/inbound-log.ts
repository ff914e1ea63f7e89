import type { WorkspaceRecord } from "./workspaces";

/** What makes two inbound requests the same ("Idempotency"). */
export type RequestIdentity =
  /** The bridge's own request id. */
  | { readonly by: "id"; readonly id: string }
  /** No id: the very same signed request, by its timestamp (in seconds) and bytes. */
  | { readonly by: "bytes"; readonly timestamp: number; readonly body: Uint8Array };

/** An inbound request that passed checks 1 to 5. */
export interface Append {
  /** The record that checks 3 to 5 were made with. */
  readonly record: WorkspaceRecord;
  /** The event to store, or "fault" when it breaks a field rule: then it only counts against the limit. */
  readonly event: { readonly identity: RequestIdentity; readonly bytes: Uint8Array } | "fault";
}

export type Appended =
  | { readonly outcome: "stored" }
  | { readonly outcome: "repeated" }
  | { readonly outcome: "fault" }
  /** The record has changed since it was read: decide again from check 3. */
  | { readonly outcome: "stale" }
  | { readonly outcome: "limited"; readonly retryAfterSeconds: number };

/** The log of accepted inbound events. */
export interface InboundLog {
  /** Makes check 6, then 7, then looks for a repetition, then stores, all in one step; durable when it answers. */
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
