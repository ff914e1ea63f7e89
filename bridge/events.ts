/**
 * What the service sends to a bridge, by push or by poll ("Outbound event
 * envelope", "Message"). Fields and kinds that are not listed here may come at
 * any time: they are passed through untouched, and an unknown kind is shown as a
 * `card`.
 */

/** The kinds of message that the contract names. */
export const MESSAGE_KINDS = [
  "text",
  "card",
  "game_start",
  "question",
  "time_up",
  "answer_update",
  "gotcha_bait",
  "gotcha_reveal",
  "game_end",
  "help",
  "settings",
  "categories",
  "leaderboard",
  "category_champs",
  "async_announcement",
  "async_question",
  "async_results",
  "icebreaker",
  "icebreaker_results",
  "small_talk",
  "kyt_reveal",
  "weekly_digest",
  "anagram",
  "wordgame_start",
  "wordgame_board",
  "wordgame_expired",
  "hangman_board",
  "hangman_end",
  "drawing_invite",
  "schedule_creator",
  "schedule_list",
  "prefs",
] as const;

/** A kind that the contract names. */
export type KnownMessageKind = (typeof MESSAGE_KINDS)[number];

/** Any kind: an editor offers the known ones, and others may come. */
export type MessageKind = KnownMessageKind | (string & {});

/** On a press the bridge sends an `action` event with the same `action`, which it never parses. */
export interface ActionButton {
  readonly label: string;
  /** At most 512 characters. */
  readonly action: string;
}

/** Opens its URL and sends nothing. */
export interface LinkButton {
  readonly label: string;
  readonly url: string;
}

export type Button = ActionButton | LinkButton;

/** What to show. */
export interface Message {
  /** `msg_` and 26 characters. Keep a map from it to the chat's own message id. */
  readonly id: string;
  readonly kind: MessageKind;
  /** Chat-flavoured Markdown; a bare newline is a line break. */
  readonly text: string;
  /** Rows from top to bottom, buttons from left to right; empty for none. */
  readonly buttons: readonly (readonly Button[])[];
  /** URI of an image or an animated image, or null. */
  readonly image: string | null;
  /** Whether the member's next typed message is the answer: send it with `replyTo` where the chat has replies. */
  readonly awaitsReply: boolean;
  /** The view model behind the message; its shape is not stable. */
  readonly data: Readonly<Record<string, unknown>> | null;
}

/** What every event says. */
export interface EventHead {
  /** `evt_` and 26 characters; the same on every retry: dedupe on it. */
  readonly id: string;
  readonly type: string;
  /** UUID of the workspace. */
  readonly workspace: string;
  /** Rises within the workspace, with gaps; below 2^53. */
  readonly sequence: number;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  /** When the event goes stale, ISO 8601, UTC; null for never. */
  readonly expiresAt: string | null;
}

/** Post `message` in `channel`. */
export interface MessageCreate extends EventHead {
  readonly type: "message.create";
  readonly channel: string;
  readonly message: Message;
}

/** Replace the message that was posted under `message.id`. */
export interface MessageUpdate extends EventHead {
  readonly type: "message.update";
  /** That of the create, or `dm:<user id>` where it was a `dm.create`. */
  readonly channel: string;
  readonly message: Message;
}

/** Show `message` to `user` alone in `channel`. */
export interface MessageEphemeral extends EventHead {
  readonly type: "message.ephemeral";
  readonly channel: string;
  readonly user: string;
  readonly message: Message;
}

/** Post `message` in a direct conversation with `user`. */
export interface DmCreate extends EventHead {
  readonly type: "dm.create";
  readonly user: string;
  readonly message: Message;
}

/** Nothing to show: the dashboard asks whether the bridge is there. */
export interface Ping extends EventHead {
  readonly type: "ping";
}

export type OutboundEvent = MessageCreate | MessageUpdate | MessageEphemeral | DmCreate | Ping;

/** What a poll answers ("Event page"). */
export interface EventPage {
  /** At most 100, oldest first. */
  readonly events: readonly OutboundEvent[];
  /** The cursor to pass as `after` next; opaque. Null only when there is none yet. */
  readonly next: string | null;
  /** More events wait. */
  readonly hasMore: boolean;
  /** Events after the sent cursor expired before they were fetched. */
  readonly gap: boolean;
}

/**
 * Whether an event is past its `expiresAt` and must be dropped unapplied.
 *
 * @param nowMs the bridge's own clock, ms since the epoch
 */
export function isExpired(event: Pick<EventHead, "expiresAt">, nowMs: number): boolean {
  return event.expiresAt !== null && Date.parse(event.expiresAt) < nowMs;
}
