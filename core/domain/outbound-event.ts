/** The events that a game publishes, as the contract's "Outbound event envelope" and "Message" define them. */

/** The contract's list of message kinds. */
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

export type MessageKind = (typeof MESSAGE_KINDS)[number];

/** A button that sends its action back, or opens its URL. */
export type Button =
  { readonly label: string; readonly action: string } | { readonly label: string; readonly url: string };

/** A message without its id. Core creates the id; an update names the id of its message. */
export interface MessageBody {
  readonly kind: MessageKind;
  readonly text: string;
  readonly buttons: readonly (readonly Button[])[];
  readonly image: string | null;
  readonly awaitsReply: boolean;
  readonly data: Readonly<Record<string, unknown>> | null;
}

/** The message of an event, and where it is shown. */
export type OutboundContent =
  | { readonly type: "message.create"; readonly channel: string; readonly message: MessageBody }
  | {
      readonly type: "message.update";
      readonly channel: string;
      readonly messageId: string;
      readonly message: MessageBody;
    }
  | {
      readonly type: "message.ephemeral";
      readonly channel: string;
      readonly user: string;
      readonly message: MessageBody;
    }
  | { readonly type: "dm.create"; readonly user: string; readonly message: MessageBody };

/** The types of outbound events. All of them carry a message, except `ping`. */
export type OutboundType = OutboundContent["type"] | "ping";

/** An event as a game published it. `findOutboundFault` checks its rules. */
export interface OutboundEvent {
  readonly workspaceId: string;
  readonly content: OutboundContent;
  /** Empty when the game gave none. */
  readonly idempotencyKey: string;
  /** Overrides the default lifetime of the type and kind. */
  readonly lifetimeMs: number | undefined;
}
