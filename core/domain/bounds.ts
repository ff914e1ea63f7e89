import {
  ADDRESS_REQUESTS_PER_SECOND,
  DAY_SECONDS,
  HELD_SECONDS,
  WORKSPACE_REQUESTS_PER_SECOND,
} from "../../contract/numbers";

/** The contract's rate limits, and the bounds that core sets where the contract sets none. */

/** Both rate limits of the contract, in requests per second (checks 2 and 6 in docs/checks.md). */
export interface Limits {
  readonly address: number;
  readonly workspace: number;
}
export const CONTRACT_LIMITS: Limits = {
  address: ADDRESS_REQUESTS_PER_SECOND,
  workspace: WORKSPACE_REQUESTS_PER_SECOND,
};
const MB = 1_048_576;

/** The maximum number of active secrets of one workspace. */
export const ACTIVE_SECRETS_MAX = 4;
/** Seconds for which an accepted inbound event is kept for games. */
export const INBOUND_LOG_SECONDS = DAY_SECONDS;

/** Maximum number of events in one `PublishEvents` call. */
export const PUBLISH_BATCH_MAX = 100;
/** Maximum size in bytes of one rendered outbound event. */
export const OUTBOUND_EVENT_MAX_BYTES = 64 * 1024;
/** Maximum depth of nested objects and lists in a message's data, including the outermost object. */
export const DATA_DEPTH_MAX = 30;
/** Seconds for which core keeps an idempotency key of `PublishEvents`. */
export const IDEMPOTENCY_KEY_SECONDS = DAY_SECONDS;
/**
 * Minimum and maximum lifetime, in ms, that a game can set for an event. No event is held for longer than the maximum.
 */
export const LIFETIME_MIN_MS = 1_000;
export const LIFETIME_MAX_MS = HELD_SECONDS * 1_000;

/**
 * Maximum number of `Follow` streams of one group, on all cores together. If there are more than `GROUP_STREAMS_MAX`
 * shards, the number of shards is the limit. A stream without a shard only waits to take over, but still calls the
 * store regularly.
 */
export const GROUP_STREAMS_MAX = 64;
/**
 * Maximum total size in bytes of the `PublishEvents` requests in progress at a core: for all tokens (eight requests of
 * the largest size), and for one token. One token can use at most half of the total, so games with other tokens can
 * still publish.
 */
export const PUBLISHING_MAX_BYTES = { all: 64 * MB, token: 32 * MB, limitedToken: 16 * MB } as const;
/**
 * Bytes of memory that core needs for a call in progress. So every `PublishEvents` request counts as at least this many
 * bytes.
 */
export const PUBLISH_CALL_BYTES = 8 * 1024;
/**
 * Maximum total size in bytes of the incomplete requests at a core: for all tokens, and for one token. The requests of
 * edges do not count. A request can be up to 8 MB.
 */
export const INCOMPLETE_MAX_BYTES = { all: 128 * MB, token: 64 * MB, limitedToken: 32 * MB } as const;
/**
 * Maximum size in bytes of a request to `WorkspaceService`, and of a request for which no particular role is required,
 * e.g. a probe.
 */
export const WORKSPACE_REQUEST_MAX_BYTES = 128 * 1_024;
export const PROBE_REQUEST_MAX_BYTES = 16 * 1_024;
/**
 * Maximum total size in bytes of the answers to the `WorkspaceService` unary calls in progress at a core: for all
 * tokens, and for one token.
 */
export const WORKSPACE_CALLS_MAX_BYTES = { all: 128 * MB, token: 64 * MB, limitedToken: 16 * MB } as const;
/**
 * Maximum number of unary calls that core processes at the same time: for all tokens, and for one token. Further calls
 * wait for their turn, and the tokens take turns. Large publish calls, and calls that wait for a bridge or for a name
 * server, do not count.
 */
export const CALLS_AT_ONCE = { inAll: 24, ofOne: 16 } as const;
/**
 * Maximum number of calls of one connection that core starts in one turn of the event loop. Further calls start in later
 * turns.
 */
export const STARTS_PER_TURN = 8;
/**
 * The rates at which a token that is limited to some workspaces can start calls and publish events at one core. A
 * bridge can post 250 events per second, so a game can answer each event twice. A `PublishEvents` call counts as its
 * number of events, or as its bytes divided by `eventBytes` if that is more. `waitingMax` is the maximum number of calls
 * that wait to start.
 */
export const LIMITED_PACE = {
  calls: { perSecond: 2 * WORKSPACE_REQUESTS_PER_SECOND, burst: 50 },
  events: { perSecond: 2 * WORKSPACE_REQUESTS_PER_SECOND, burst: 200 },
  eventBytes: 8 * 1024,
  waitingMax: { all: 4_096, limitedToken: 1_024 },
} as const;
/**
 * The pace at which core answers RESOURCE_EXHAUSTED to one token. So a client that retries immediately must still wait
 * for each answer.
 */
export const REFUSALS = { perSecond: 200, waitingMax: { inAll: 4_096, ofOne: 1_024 } } as const;
/**
 * Core publishes the events of a large `PublishEvents` call in slices of about `bytes`. Core decodes and stores at most
 * `inAll` slices at the same time, and at most `ofOne` slices of one token. A small call has only one slice, which
 * waits for a turn like any other unary call.
 */
export const PUBLISH_SLICES = { bytes: 256 * 1024, inAll: 4, ofOne: 1 } as const;
/** Maximum number of calls at a core that watch workspaces: for all tokens, and for one token. */
export const WATCHES_MAX = { all: 1_000, token: 500, limitedToken: 100 } as const;

/** Maximum number of `Follow` streams of all groups on one core. */
export const CORE_STREAMS_MAX = 256;

/**
 * Maximum number of parked events: events that a stream has read, but not delivered, because their workspaces have no
 * room in its window. A parked event takes about 50 bytes in core, or 180 bytes if no other event of its workspace is
 * parked. So parked events take at most 90 MB per core, and 3.6 MB per shard of a stream. `token` and `limitedToken`
 * apply to the streams of one token, so that one game cannot use up the places of other games.
 */
export const PARKED_EVENTS_MAX = {
  all: 500_000,
  shard: 20_000,
  token: 250_000,
  limitedToken: 125_000,
} as const;

/**
 * Maximum number of a stream's events that do not count in its window, because the consumer gave them back and they are
 * not redelivered yet. Beyond this maximum, events that are given back count in the window. An event takes up to 600
 * bytes in core.
 */
export const GIVEN_BACK_MAX = 1_000;

/**
 * Maximum number of tests in progress on one core: in total, for one workspace, and for one token. A test sends a test
 * event or a test operator event. The same maximums apply to URL checks, because these checks look up names.
 */
export const OUTSIDE_CALLS_MAX = { inAll: 256, ofWorkspace: 16, ofToken: 64 } as const;
/**
 * Limits for tests of an address for operator events: at most `max` tests in `seconds` seconds. Each workspace, each
 * email address and the installation have their own limits.
 */
export const OPERATOR_TEST_LIMITS = [
  { max: 5, seconds: 60 },
  { max: 30, seconds: 3_600 },
] as const;
/** Maximum number of groups of followers, in all shards together. Each scrape reads the backlog of every group. */
export const GROUPS_MAX = 64;
/** Milliseconds after which core removes a group that has no streams. The log keeps events for the same time. */
export const GROUP_IDLE_MS = DAY_SECONDS * 1_000;

/** Maximum numbers of groups, and of `Follow` streams on one core, for all game tokens with the same name. */
export interface FollowShare {
  readonly groups: number;
  readonly streams: number;
}
/**
 * The share of a token that is not limited to some workspaces. The share is less than the maximum for all tokens, so
 * that one token cannot use up all groups or streams.
 */
export const FOLLOW_SHARE: FollowShare = { groups: 32, streams: 192 };
/** The share of a token that is limited to some workspaces. */
export const LIMITED_FOLLOW_SHARE: FollowShare = { groups: 4, streams: 32 };

const HOUR_MS = 3_600_000;
/**
 * Maximum numbers (on all cores together) and lifetimes of sealed entries: sessions and sign-in links of the dashboard.
 * An entry expires after `lifeMs`, or after `idleMs` without use.
 */
export const SEALED_LIMITS = {
  session: {
    max: { all: 1_000, token: 500, limitedToken: 100 },
    lifeMs: 12 * HOUR_MS,
    idleMs: 2 * HOUR_MS,
  },
  link: { max: { all: 100, token: 50, limitedToken: 10 }, lifeMs: HOUR_MS, idleMs: HOUR_MS },
} as const;
/** Maximum size in bytes of a sealed entry. */
export const SEALED_MAX_BYTES = 1_024;
