import type { DmCreate, MessageCreate, MessageEphemeral, MessageUpdate, OutboundEvent } from "./events";

/** An input of the reducer. `nowMs` is the bridge's clock, ms since the epoch. */
export type BridgeInput =
  /** Events arrived, by push or by poll, in any order. `gap` is the `gap` of the page. */
  | {
      readonly type: "events";
      readonly events: readonly OutboundEvent[];
      readonly gap?: boolean;
      readonly nowMs: number;
    }
  /** The chat accepted a `post` or a `dm`; `chatMessageId` is the chat's id of the message. */
  | {
      readonly type: "posted";
      readonly eventId: string;
      readonly chatMessageId: string;
      readonly nowMs: number;
    }
  /** The chat accepted an `edit` or an `ephemeral`. */
  | { readonly type: "done"; readonly eventId: string; readonly nowMs: number }
  /** The chat refused: an error, a timeout, a rate limit. `retryAfterMs` is the minimum wait before a retry. */
  | {
      readonly type: "refused";
      readonly eventId: string;
      readonly retryAfterMs?: number;
      readonly nowMs: number;
    }
  /** `wakeAtMs` has been reached. */
  | { readonly type: "time"; readonly nowMs: number };

/**
 * An output of the reducer. `post`, `dm`, `edit` and `ephemeral` are calls of the chat:
 * start them in this order, and answer each exactly once by `posted`, `done` or `refused`
 * with the id of its event. They may run concurrently.
 */
export type BridgeEffect =
  /** Post `event.message` in `event.channel`. */
  | { readonly type: "post"; readonly event: MessageCreate }
  /** Open or reuse a direct conversation with `event.user` and post `event.message` there. */
  | { readonly type: "dm"; readonly event: DmCreate }
  /** Replace text, buttons and image of the chat's message `chatMessageId` by those of `event.message`. */
  | { readonly type: "edit"; readonly event: MessageUpdate; readonly chatMessageId: string }
  /** Show `event.message` only to `event.user` in `event.channel`, or by DM or post if the chat cannot do that. */
  | { readonly type: "ephemeral"; readonly event: MessageEphemeral }
  /** The event changes nothing in the chat; for the log. */
  | { readonly type: "skip"; readonly event: OutboundEvent; readonly reason: SkipReason }
  /** Events expired before they were fetched. The bridge may show a notice in its channels. */
  | { readonly type: "missed" };

/** The reason why an event changes nothing in the chat. */
export type SkipReason =
  /** The event is a repeat. */
  | "duplicate"
  /** The event is past its `expiresAt`. For a create, this may follow refusals by the chat. */
  | "expired"
  /** There is an update of the same message with a higher sequence. */
  | "superseded"
  /** The event updates a message whose create was dropped. */
  | "create-dropped"
  /** The event updates an unknown message, whose create did not arrive in time. */
  | "unmapped"
  /** The chat refused the update or the ephemeral. */
  | "refused"
  /** The event is a ping, which shows nothing. */
  | "ping"
  /** Too many events are pending. The event was not accepted: get it again, by answering `503` or by polling. */
  | "full";
