/** The contract's numbers. Each constant carries its unit in its name. */

/** Requests a second from one sending address, signed or not (check 2). */
const ADDRESS_LIMIT_PER_SECOND = 500;
/** Signed requests a second for one workspace, polls included (check 6). */
const WORKSPACE_LIMIT_PER_SECOND = 250;
/** Both limits, in requests a second. */
export interface Limits {
  readonly address: number;
  readonly workspace: number;
}
export const CONTRACT_LIMITS: Limits = {
  address: ADDRESS_LIMIT_PER_SECOND,
  workspace: WORKSPACE_LIMIT_PER_SECOND,
};
/** How far a signed timestamp may be from the service clock, either way (check 5). */
export const TIMESTAMP_TOLERANCE_SECONDS = 5 * 60;
/** How long a retired secret stays valid. */
export const ROTATION_OVERLAP_MS = 24 * 60 * 60 * 1000;
/** How many secrets of one workspace may be active at once. */
export const ACTIVE_SECRETS_MAX = 4;
/** How long an accepted event is kept for the games that follow. */
export const INBOUND_LOG_SECONDS = 24 * 60 * 60;
/** A channel, message or user id of a bridge, in code points. */
export const ID_MAX_CHARACTERS = 128;
/** A DM channel id: "dm:" and a user id, in code points. */
export const DM_CHANNEL_MAX_CHARACTERS = 131;
/** A button's action, in code points. */
export const ACTION_MAX_CHARACTERS = 512;
/** The prefix that channel ids must not have and DM channel ids must. */
export const DM_PREFIX = "dm:";

/** Events of one PublishEvents call. */
export const PUBLISH_BATCH_MAX = 100;
/** One rendered outbound event. Ours: the contract names no bound. */
export const OUTBOUND_EVENT_MAX_BYTES = 64 * 1024;
/** How many objects and lists may be inside each other in a message's data, the outermost one included. Ours as well. */
export const DATA_DEPTH_MAX = 30;
/** How long an idempotency key of PublishEvents is remembered. */
export const IDEMPOTENCY_KEY_SECONDS = 24 * 60 * 60;
/** The longest lifetime that a game service may give an event. */
export const LIFETIME_MAX_MS = 24 * 60 * 60 * 1000;

/**
 * Streams of Follow that a group may have, over all cores; as many as there are shards where those are more. A
 * stream without a shard only waits to take over, and every one says now and then that it is alive. Ours.
 */
export const GROUP_STREAMS_MAX = 64;
/** Streams of Follow that one core takes, of all groups. Ours. */
export const CORE_STREAMS_MAX = 256;
