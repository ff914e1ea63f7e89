/** The limits that the contract sets, and our own where it sets none. Units are in the names. */

/** Requests per second from one sending address, signed or not (check 2). */
const ADDRESS_LIMIT_PER_SECOND = 500;
/** Signed requests per second for one workspace, polls included (check 6). */
const WORKSPACE_LIMIT_PER_SECOND = 250;
/** Both limits, in requests per second. */
export interface Limits {
  readonly address: number;
  readonly workspace: number;
}
export const CONTRACT_LIMITS: Limits = {
  address: ADDRESS_LIMIT_PER_SECOND,
  workspace: WORKSPACE_LIMIT_PER_SECOND,
};
/** The maximum difference between a signed timestamp and the service clock, in either direction (check 5). */
export const TIMESTAMP_TOLERANCE_SECONDS = 5 * 60;
/** How long a secret stays valid after it was replaced. */
export const ROTATION_OVERLAP_MS = 24 * 60 * 60 * 1000;
/** The maximum number of active secrets of one workspace. */
export const ACTIVE_SECRETS_MAX = 4;
/** How long an accepted inbound event is kept for games. */
export const INBOUND_LOG_SECONDS = 24 * 60 * 60;
/** The length of a channel, message or user id of a bridge, in code points. */
export const ID_MAX_CHARACTERS = 128;
/** The length of a DM channel id ("dm:" and a user id), in code points. */
export const DM_CHANNEL_MAX_CHARACTERS = 131;
/** The length of a button's action, in code points. */
export const ACTION_MAX_CHARACTERS = 512;
/** The prefix of every DM channel id. Other channel ids must not begin with it. */
export const DM_PREFIX = "dm:";

/** Events in one `PublishEvents` call. */
export const PUBLISH_BATCH_MAX = 100;
/** The size of one rendered outbound event. Our own limit: the contract sets none. */
export const OUTBOUND_EVENT_MAX_BYTES = 64 * 1024;
/** The depth of nested objects and lists in a message's data, the outermost one included. Our own limit, too. */
export const DATA_DEPTH_MAX = 30;
/** How long core remembers an idempotency key of `PublishEvents`. */
export const IDEMPOTENCY_KEY_SECONDS = 24 * 60 * 60;
/** The longest lifetime that a game service may give an event. */
export const LIFETIME_MAX_MS = 24 * 60 * 60 * 1000;

/**
 * `Follow` streams of one group, over all cores; if there are more shards than this, their number is the limit.
 * A stream without a shard only waits to take over, yet costs regular calls to the store. Our own limit.
 */
export const GROUP_STREAMS_MAX = 64;
/** `Follow` streams of all groups on one core. Our own limit. */
export const CORE_STREAMS_MAX = 256;
