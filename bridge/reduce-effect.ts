import type { DmCreate, MessageCreate, MessageEphemeral, MessageUpdate, OutboundEvent } from "./events";

/** What happened, to the reducer. `nowMs` is the bridge's clock, ms since the epoch. */
export type BridgeInput =
  /** Events came, by push or by poll, in any order. `gap` is that of the page. */
  | {
      readonly type: "events";
      readonly events: readonly OutboundEvent[];
      readonly gap?: boolean;
      readonly nowMs: number;
    }
  /** The chat took a `post` or a `dm`, as this message of its own. */
  | {
      readonly type: "posted";
      readonly eventId: string;
      readonly chatMessageId: string;
      readonly nowMs: number;
    }
  /** The chat took an `edit` or an `ephemeral`. */
  | { readonly type: "done"; readonly eventId: string; readonly nowMs: number }
  /** The chat did not take it: an error, a time-out, a limit. `retryAfterMs` is how long the chat wants to be left alone. */
  | {
      readonly type: "refused";
      readonly eventId: string;
      readonly retryAfterMs?: number;
      readonly nowMs: number;
    }
  /** The time that was asked for has come. */
  | { readonly type: "time"; readonly nowMs: number };

/**
 * What to do. `post`, `dm`, `edit` and `ephemeral` are for the chat: begin them in
 * their order, and answer each once, by `posted`, `done` or `refused` with the id of
 * its event. None needs to wait for another.
 */
export type BridgeEffect =
  /** Post `event.message` in `event.channel`. */
  | { readonly type: "post"; readonly event: MessageCreate }
  /** Open or reuse a direct conversation with `event.user` and post `event.message` there. */
  | { readonly type: "dm"; readonly event: DmCreate }
  /** Replace text, buttons and image of the chat's own message `chatMessageId` by those of `event.message`. */
  | { readonly type: "edit"; readonly event: MessageUpdate; readonly chatMessageId: string }
  /** Show `event.message` to `event.user` alone in `event.channel` where the chat can; otherwise DM or post it. */
  | { readonly type: "ephemeral"; readonly event: MessageEphemeral }
  /** The event changes nothing in the chat; for the log. */
  | { readonly type: "skip"; readonly event: OutboundEvent; readonly reason: SkipReason }
  /** Events expired before they were fetched: the bridge may tell its channels so. */
  | { readonly type: "missed" };

/** Why an event changes nothing in the chat. */
export type SkipReason =
  /** It came before. */
  | "duplicate"
  /** It is past its `expiresAt`, or a create was refused until then. */
  | "expired"
  /** An update of the same message with a higher sequence came. */
  | "superseded"
  /** An update of a message whose create was dropped. */
  | "create-dropped"
  /** An update of a message that is not known, and did not become known in time. */
  | "unmapped"
  /** An update or an ephemeral that the chat refused. */
  | "refused"
  /** A ping: there is nothing to show. */
  | "ping"
  /** Too much is under way. The event is not taken: have it sent again, by `503` or by polling again. */
  | "full";
