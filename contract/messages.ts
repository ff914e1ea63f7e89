import { LIVE_LIFETIME_MS } from "./numbers";

interface KindRules {
  /** Milliseconds until a message of this kind expires; null if it never expires. */
  readonly lifetimeMs: number | null;
  /**
   * Whether an update with a message of this kind starts a phase of a game. A failed push of such an update is retried.
   */
  readonly startsPhase: boolean;
}

const LIVE: KindRules = { lifetimeMs: LIVE_LIFETIME_MS, startsPhase: false };
const PHASE: KindRules = { lifetimeMs: LIVE_LIFETIME_MS, startsPhase: true };
/** Rules for the kinds that never expire: prompts and results that stay useful for hours. */
const LASTING: KindRules = { lifetimeMs: null, startsPhase: false };

/**
 * The kinds of message, in the contract's order (event reference, "Kinds of message").
 */
const KINDS = {
  text: LIVE,
  card: LIVE,
  game_start: LIVE,
  question: PHASE,
  time_up: PHASE,
  answer_update: LIVE,
  gotcha_bait: PHASE,
  gotcha_reveal: PHASE,
  game_end: PHASE,
  help: LIVE,
  settings: LIVE,
  categories: LIVE,
  leaderboard: LIVE,
  category_champs: LIVE,
  async_announcement: LASTING,
  async_question: LASTING,
  async_results: LASTING,
  icebreaker: LASTING,
  icebreaker_results: LASTING,
  small_talk: LASTING,
  kyt_reveal: LASTING,
  weekly_digest: LASTING,
  anagram: LASTING,
  wordgame_start: LASTING,
  wordgame_board: LASTING,
  wordgame_expired: LASTING,
  hangman_board: LASTING,
  hangman_end: LASTING,
  drawing_invite: LIVE,
  schedule_creator: LASTING,
  schedule_list: LASTING,
  prefs: LIVE,
};

/** A kind of message that the contract names. */
export type MessageKind = keyof typeof KINDS;
export const KIND_RULES: Readonly<Record<MessageKind, KindRules>> = KINDS;
export const MESSAGE_KINDS = Object.keys(KINDS) as readonly MessageKind[];
/** The kinds whose updates start a phase of a game. */
export const PHASE_KINDS = MESSAGE_KINDS.filter((kind) => KIND_RULES[kind].startsPhase);

/** The types of outbound events. CONTRIBUTING.md describes how to add a new type of event. */
export const OUTBOUND_TYPES = [
  "message.create",
  "message.update",
  "message.ephemeral",
  "dm.create",
  "ping",
] as const;
export type OutboundType = (typeof OUTBOUND_TYPES)[number];

/**
 * Whether a failed push of an event is retried (bridge guide, "Retries"). An update is retried if it starts a
 * phase. Other updates are not retried, because the next update replaces them. A ping is not retried, because a late
 * ping is useless. `RETRY_OFFSETS_MS` lists the times of the retries. An expired event is not retried.
 */
export function isPushRetried(event: {
  readonly type: OutboundType;
  readonly message?: { readonly kind: string };
}): boolean {
  switch (event.type) {
    case "message.create":
    case "dm.create":
    case "message.ephemeral":
      return true;
    case "message.update":
      return PHASE_KINDS.some((kind) => kind === event.message?.kind);
    case "ping":
      return false;
  }
}

/** The types of inbound events. CONTRIBUTING.md says how to add a new type (kind) of event. */
export const INBOUND_TYPES = ["command", "action", "message"] as const;
export type InboundType = (typeof INBOUND_TYPES)[number];
