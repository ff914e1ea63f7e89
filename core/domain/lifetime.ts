import type { MessageKind, OutboundType } from "./outbound-event";

const ONE_MINUTE_MS = 60_000;
const TEN_MINUTES_MS = 600_000;
const NEVER_STALE = null;

/** Lifetimes of events by the kind of their message, in ms; null for never (contract, "`expiresAt` values"). */
export const LIFETIME_BY_KIND: Readonly<Record<MessageKind, number | null>> = {
  // Messages of live games, and answers to commands.
  text: TEN_MINUTES_MS,
  card: TEN_MINUTES_MS,
  game_start: TEN_MINUTES_MS,
  question: TEN_MINUTES_MS,
  time_up: TEN_MINUTES_MS,
  answer_update: TEN_MINUTES_MS,
  gotcha_bait: TEN_MINUTES_MS,
  gotcha_reveal: TEN_MINUTES_MS,
  game_end: TEN_MINUTES_MS,
  help: TEN_MINUTES_MS,
  settings: TEN_MINUTES_MS,
  categories: TEN_MINUTES_MS,
  leaderboard: TEN_MINUTES_MS,
  category_champs: TEN_MINUTES_MS,
  drawing_invite: TEN_MINUTES_MS,
  prefs: TEN_MINUTES_MS,
  // Prompts and results that stay useful for hours: self-paced rounds, games that end by themselves,
  // icebreakers, digests, schedules.
  async_announcement: NEVER_STALE,
  async_question: NEVER_STALE,
  async_results: NEVER_STALE,
  icebreaker: NEVER_STALE,
  icebreaker_results: NEVER_STALE,
  small_talk: NEVER_STALE,
  kyt_reveal: NEVER_STALE,
  weekly_digest: NEVER_STALE,
  anagram: NEVER_STALE,
  wordgame_start: NEVER_STALE,
  wordgame_board: NEVER_STALE,
  wordgame_expired: NEVER_STALE,
  hangman_board: NEVER_STALE,
  hangman_end: NEVER_STALE,
  schedule_creator: NEVER_STALE,
  schedule_list: NEVER_STALE,
};

/** Returns the default lifetime of an event in ms; null when it never expires. Any ephemeral or ping lasts one minute. */
export function defaultLifetimeMs(type: OutboundType, kind: MessageKind | undefined): number | null {
  if (type === "message.ephemeral" || type === "ping" || kind === undefined) return ONE_MINUTE_MS;
  return LIFETIME_BY_KIND[kind];
}
