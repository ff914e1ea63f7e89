import type { DmCreate, MessageCreate, MessageEphemeral, MessageUpdate, OutboundEvent } from "./events";

/** An input of the reducer. `nowMs` is the time on the bridge's clock, in ms since the epoch. */
export type BridgeInput =
  /**
   * Events arrived, by push or by poll, in any order. `gap` is the field `gap` of a polled page. `skipped` contains the
   * `skipKeys` of earlier creates that were skipped as `full`. The reducer also skips later creates in the same places
   * and updates of the same messages, because these events must not overtake the skipped creates.
   */
  | {
      readonly type: "events";
      readonly events: readonly OutboundEvent[];
      readonly gap?: boolean;
      readonly skipped?: ReadonlySet<string>;
      readonly nowMs: number;
    }
  /** The chat accepted a `post` or a `dm`; `chatMessageId` is the chat's id for the message. */
  | {
      readonly type: "posted";
      readonly eventId: string;
      readonly chatMessageId: string;
      readonly nowMs: number;
    }
  /** The chat accepted an `edit` or an `ephemeral`. */
  | { readonly type: "done"; readonly eventId: string; readonly nowMs: number }
  /**
   * The chat did not accept a call, e.g. because of an error, a timeout or a rate limit. `retryAfterMs` is the minimum
   * wait before a retry, in ms.
   */
  | {
      readonly type: "refused";
      readonly eventId: string;
      readonly retryAfterMs?: number;
      readonly nowMs: number;
    }
  /** The clock has reached the `wakeAtMs` of the last result. */
  | { readonly type: "time"; readonly nowMs: number };

/**
 * An output of the reducer. `post`, `dm`, `edit` and `ephemeral` are calls to the chat.
 * Start the calls in the order of the effects; they may run concurrently. Report the result
 * of each call as the input `posted`, `done` or `refused`, with the id of the call's event. If a
 * call succeeds after you reported its timeout as `refused`, also report `posted` or `done`.
 */
export type BridgeEffect =
  /** Post `event.message` in `event.channel`. */
  | { readonly type: "post"; readonly event: MessageCreate }
  /** Post `event.message` in a direct conversation with `event.user`. Open the conversation if necessary. */
  | { readonly type: "dm"; readonly event: DmCreate }
  /** Replace the text, buttons and image of the chat's message `chatMessageId` with those of `event.message`. */
  | { readonly type: "edit"; readonly event: MessageUpdate; readonly chatMessageId: string }
  /**
   * Show `event.message` in `event.channel` only to `event.user`. If the chat cannot show a message to one member only,
   * use a DM or a post.
   */
  | { readonly type: "ephemeral"; readonly event: MessageEphemeral }
  /** The event changes nothing in the chat. This effect is only for the log. */
  | { readonly type: "skip"; readonly event: OutboundEvent; readonly reason: SkipReason }
  /**
   * Some events were removed from the service before the bridge fetched them. The bridge may show a notice in its
   * channels.
   */
  | { readonly type: "missed" };

/** The reason why an event changes nothing in the chat. */
export type SkipReason =
  /** The event is a repeat. */
  | "duplicate"
  /**
   * The event is past its `expiresAt`. A create or an ephemeral may have expired after the chat refused it several
   * times.
   */
  | "expired"
  /** The event is an update, and another update of the same message has a higher sequence. */
  | "superseded"
  /** The event updates a message whose create was dropped. */
  | "create-dropped"
  /** The event updates an unknown message, whose create did not arrive in time. */
  | "unmapped"
  /** The chat refused the update. */
  | "refused"
  /** The event is a ping, which shows nothing. */
  | "ping"
  /**
   * The state has no room for the event, or for an earlier create that the event must not overtake. There may still be
   * room for events of other channels. If the event was pushed, answer with `503`; if it was polled, poll it again.
   */
  | "full";
