// Copied from contract/ by scripts/gen.mjs. DO NOT EDIT.

/** The numbers of the public contract. Each name ends with its unit. The repository's README.md numbers the checks. */

const SECOND_MS = 1_000;
const MINUTE_SECONDS = 60;
const MINUTE_MS = MINUTE_SECONDS * SECOND_MS;
/** Seconds in a day. */
export const DAY_SECONDS = 86_400;

/** Maximum bytes of an inbound body (check 1). */
export const BODY_MAX_BYTES = 65_536;
/** Maximum bytes of the head of a request. The contract sets no maximum. */
export const HEADERS_MAX_BYTES = 16_384;
/** Maximum requests per second from one sending address, signed or not (check 2). */
export const ADDRESS_REQUESTS_PER_SECOND = 500;
/** Maximum seconds between a signed timestamp and the service clock, in either direction (check 5). */
export const TIMESTAMP_TOLERANCE_SECONDS = 5 * MINUTE_SECONDS;
/** Maximum signed requests per second for one workspace, polls included (check 6). */
export const WORKSPACE_REQUESTS_PER_SECOND = 250;

/** Maximum code points of a request id, channel id, user id, message id, or the name of a channel or user. */
export const ID_MAX_CHARACTERS = 128;
/** Maximum code points of a button's action. */
export const ACTION_MAX_CHARACTERS = 512;
/** Maximum code points of the text of a `command`. */
export const COMMAND_TEXT_MAX_CHARACTERS = 2_000;
/** Maximum code points of the text of an inbound `message`. */
export const MESSAGE_TEXT_MAX_CHARACTERS = 4_000;

/** Seconds for which the service keeps a request id. */
export const REQUEST_ID_SECONDS = 1 * DAY_SECONDS;
/** Seconds for which the service holds an event for polling. */
export const HELD_SECONDS = 1 * DAY_SECONDS;
/** Milliseconds for which a retired signing secret stays valid. */
export const ROTATION_OVERLAP_MS = 1 * DAY_SECONDS * SECOND_MS;

/** Maximum number of events on one page; also the default of the query parameter `limit`. */
export const PAGE_MAX_EVENTS = 100;
/** Maximum number of decimal digits of a cursor. */
export const CURSOR_MAX_DIGITS = 18;
/** Recommended milliseconds between two polls. */
export const POLL_INTERVAL_MS = 2 * SECOND_MS;
/** Milliseconds without a poll after which a bridge counts as failing, if events are waiting. */
export const FAILING_AFTER_MS = 5 * MINUTE_MS;
/** Maximum milliseconds since a bridge's last poll at which a test event for a poll workspace succeeds. */
export const POLLED_LATELY_MS = MINUTE_MS;

/** Milliseconds within which a bridge must answer a push. */
export const PUSH_DEADLINE_MS = 5 * SECOND_MS;
/** Milliseconds from the first failure of a push to each retry (bridge guide, "Retries"). */
export const RETRY_OFFSETS_MS = [1 * SECOND_MS, 4 * SECOND_MS] as const;
/** Milliseconds for which a bridge holds an update that arrives before the create of its message. */
export const UPDATE_HOLD_MS = 5 * SECOND_MS;

/** Milliseconds from the creation to the expiry of an ephemeral message or a ping. */
export const SHORT_LIFETIME_MS = MINUTE_MS;
/** Milliseconds from the creation to the expiry of a live game's message or of an answer to a command. */
export const LIVE_LIFETIME_MS = 10 * MINUTE_MS;

/** The formats of ids, cursors and the signature header in the public contract. */

/** A workspace id: a UUID. */
export const UUID_FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
export const CURSOR_FORM = new RegExp(`^[0-9]{1,${CURSOR_MAX_DIGITS}}$`);
const ULID = "[0-9A-HJKMNP-TV-Z]{26}";
export const EVENT_ID_FORM = new RegExp(`^evt_${ULID}$`);
export const MESSAGE_ID_FORM = new RegExp(`^msg_${ULID}$`);
/** The header `Service-Signature`. */
export const SIGNATURE_FORM = /^t=([0-9]+)((?:,v1=[0-9a-fA-F]+)+)$/;

/** The prefix of the id of a DM channel; the member's user id follows. No other channel id has this prefix. */
export const DM_PREFIX = "dm:";
/** Maximum code points of the id of a DM channel. */
export const DM_CHANNEL_MAX_CHARACTERS = DM_PREFIX.length + ID_MAX_CHARACTERS;

interface KindRules {
  /** Milliseconds until a message of the kind expires; null for never. */
  readonly lifetimeMs: number | null;
  /**
   * Whether an update with a message of the kind starts a phase of a game. A failed push of such an update is retried.
   */
  readonly startsPhase: boolean;
}

const LIVE: KindRules = { lifetimeMs: LIVE_LIFETIME_MS, startsPhase: false };
const PHASE: KindRules = { lifetimeMs: LIVE_LIFETIME_MS, startsPhase: true };
/** Rules of the kinds that never expire: prompts and results that stay useful for hours. */
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

/** The types of outbound events. */
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
 * ping is useless. `RETRY_OFFSETS_MS` has the times of the retries. An expired event is not retried.
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

/** The types of inbound events. */
export const INBOUND_TYPES = ["command", "action", "message"] as const;
export type InboundType = (typeof INBOUND_TYPES)[number];

const MILLISECOND_DIGITS = 13;
const HOUR_SECONDS = 3_600;
/** The units in which a difference is given, from the shortest, with the seconds above which the next unit is used. */
const UNITS = [
  { name: "seconds", seconds: 1, most: 600 },
  { name: "minutes", seconds: 60, most: 3 * HOUR_SECONDS },
  { name: "hours", seconds: HOUR_SECONDS, most: 72 * HOUR_SECONDS },
  { name: "days", seconds: 24 * HOUR_SECONDS, most: 10_000 * 24 * HOUR_SECONDS },
] as const;

/**
 * Returns why a signed timestamp is stale, for an error message: its unit is wrong, or it is behind or ahead of a clock.
 *
 * @param timestamp the digits of `t`
 * @param nowMs the time of the clock, ms since the epoch
 * @param clock the name of the clock, such as "the service's clock"
 */
export function staleTimestamp(timestamp: string, nowMs: number, clock: string): string {
  const digits = timestamp.replace(/^0+/, "");
  if (digits.length === MILLISECOND_DIGITS) {
    return "the signed timestamp has 13 digits, as milliseconds have: sign with Unix seconds, which have 10 digits";
  }
  const aheadSeconds = Number(digits) - nowMs / 1000;
  const side = aheadSeconds > 0 ? "ahead of" : "behind";
  const time = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  const most = `at most ${TIMESTAMP_TOLERANCE_SECONDS / 60} minutes are allowed`;
  return `the signed timestamp is ${durationOf(Math.abs(aheadSeconds))} ${side} ${clock}, which says ${time}; ${most}`;
}

function durationOf(seconds: number): string {
  const unit = UNITS.find(({ most }) => seconds <= most);
  if (unit === undefined) return "many years";
  // A difference of 300.2 seconds is too much, so it must not read as 300 seconds.
  const count = unit.seconds === 1 ? Math.ceil(seconds) : Math.round(seconds / unit.seconds);
  return `${count} ${unit.name}`;
}
