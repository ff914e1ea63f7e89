/**
 * The numbers of the public contract. Each name ends with its unit. docs/checks.md lists the checks by number.
 */

const SECOND_MS = 1_000;
const MINUTE_SECONDS = 60;
const MINUTE_MS = MINUTE_SECONDS * SECOND_MS;
/** Seconds in a day. */
export const DAY_SECONDS = 86_400;

/** Maximum size in bytes of an inbound body (check 1). */
export const BODY_MAX_BYTES = 65_536;
/** Maximum size in bytes of a request's head. If the head is larger, the answer is `431`. */
export const HEADERS_MAX_BYTES = 16_384;
/** Maximum requests per second from one sending address, signed or not (check 2). */
export const ADDRESS_REQUESTS_PER_SECOND = 500;
/**
 * Maximum requests per second to one edge from all addresses of an IPv6 /64 network (check 2). One host can own a whole
 * /64, and can then use a new address for each request.
 */
export const NETWORK_REQUESTS_PER_SECOND = 10 * ADDRESS_REQUESTS_PER_SECOND;
/** Maximum seconds between a signed timestamp and the service clock, in either direction (check 5). */
export const TIMESTAMP_TOLERANCE_SECONDS = 5 * MINUTE_SECONDS;
/** Maximum signed requests per second for one workspace, polls included (check 6). */
export const WORKSPACE_REQUESTS_PER_SECOND = 250;

/**
 * Maximum number of code points in the id of a request, channel, user or message, and in the name of a channel or user.
 */
export const ID_MAX_CHARACTERS = 128;
/** Maximum number of code points in a button's action. */
export const ACTION_MAX_CHARACTERS = 512;
/** Maximum number of code points in the text of a `command`. */
export const COMMAND_TEXT_MAX_CHARACTERS = 2_000;
/** Maximum number of code points in the text of an inbound `message`. */
export const MESSAGE_TEXT_MAX_CHARACTERS = 4_000;

/** Seconds for which the service keeps a request id. */
export const REQUEST_ID_SECONDS = 1 * DAY_SECONDS;
/** Seconds for which the service holds an event for polling. */
export const HELD_SECONDS = 1 * DAY_SECONDS;
/** Milliseconds for which a retired signing secret stays valid. */
export const ROTATION_OVERLAP_MS = 1 * DAY_SECONDS * SECOND_MS;

/** Maximum number of events on one page, and the default value of the query parameter `limit`. */
export const PAGE_MAX_EVENTS = 100;
/** Maximum number of decimal digits of a cursor. */
export const CURSOR_MAX_DIGITS = 18;
/** Recommended milliseconds between two polls. */
export const POLL_INTERVAL_MS = 2 * SECOND_MS;
/** Milliseconds without a poll after which a bridge counts as failing, if events are waiting. */
export const FAILING_AFTER_MS = 5 * MINUTE_MS;
/** Maximum milliseconds since the bridge's last poll for a test event in a poll workspace to succeed. */
export const POLLED_LATELY_MS = MINUTE_MS;

/** Milliseconds within which a bridge must answer a push (timeout of an attempt). */
export const PUSH_DEADLINE_MS = 5 * SECOND_MS;
/** Milliseconds from the first failure of a push to each retry: a fixed backoff (bridge guide, "Retries"). */
export const RETRY_OFFSETS_MS = [1 * SECOND_MS, 4 * SECOND_MS] as const;
/** Milliseconds for which a bridge holds an update that arrives before the event that creates its message. */
export const UPDATE_HOLD_MS = 5 * SECOND_MS;

/** Milliseconds from the creation to the expiry of an ephemeral message or a ping. */
export const SHORT_LIFETIME_MS = MINUTE_MS;
/** Milliseconds from the creation to the expiry of a live game's message or of an answer to a command. */
export const LIVE_LIFETIME_MS = 10 * MINUTE_MS;
