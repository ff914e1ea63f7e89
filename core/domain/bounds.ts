import {
  ADDRESS_REQUESTS_PER_SECOND,
  DAY_SECONDS,
  HELD_SECONDS,
  WORKSPACE_REQUESTS_PER_SECOND,
} from "../../contract/numbers";

/** The bounds that core sets where the contract sets none. Units are in the names. */

/** Both rate limits, in requests per second (checks 2 and 6). */
export interface Limits {
  readonly address: number;
  readonly workspace: number;
}
export const CONTRACT_LIMITS: Limits = {
  address: ADDRESS_REQUESTS_PER_SECOND,
  workspace: WORKSPACE_REQUESTS_PER_SECOND,
};
/** The maximum number of active secrets of one workspace. */
export const ACTIVE_SECRETS_MAX = 4;
/** How long an accepted inbound event is kept for games. */
export const INBOUND_LOG_SECONDS = DAY_SECONDS;

/** Events in one `PublishEvents` call. */
export const PUBLISH_BATCH_MAX = 100;
/** The size of one rendered outbound event. */
export const OUTBOUND_EVENT_MAX_BYTES = 64 * 1024;
/** The depth of nested objects and lists in a message's data, the outermost one included. */
export const DATA_DEPTH_MAX = 30;
/** How long core remembers an idempotency key of `PublishEvents`. */
export const IDEMPOTENCY_KEY_SECONDS = DAY_SECONDS;
/** The longest lifetime that a game service may give an event: for as long as the event can be held. */
export const LIFETIME_MAX_MS = HELD_SECONDS * 1_000;

/**
 * `Follow` streams of one group, over all cores; if there are more shards than this, their number is the limit.
 * A stream without a shard only waits to take over, yet costs regular calls to the store.
 */
export const GROUP_STREAMS_MAX = 64;
/** `Follow` streams of all groups on one core. */
export const CORE_STREAMS_MAX = 256;
