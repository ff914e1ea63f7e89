/** The numbers of the public contract. Each name ends with its unit. */

const SECOND_MS = 1_000;
const MINUTE_SECONDS = 60;
const MINUTE_MS = MINUTE_SECONDS * SECOND_MS;
/** Seconds of a day. */
export const DAY_SECONDS = 86_400;

/** Bytes of an inbound body (check 1). */
export const BODY_MAX_BYTES = 65_536;
/** Bytes of the head of a request. The contract sets no bound. */
export const HEADERS_MAX_BYTES = 16_384;
/** Requests per second from one sending address, signed or not (check 2). */
export const ADDRESS_REQUESTS_PER_SECOND = 500;
/** Distance of a signed timestamp from the service clock, in either direction (check 5). */
export const TIMESTAMP_TOLERANCE_SECONDS = 5 * MINUTE_SECONDS;
/** Signed requests per second for one workspace, polls included (check 6). */
export const WORKSPACE_REQUESTS_PER_SECOND = 250;

/** Code points of a request id, channel id, user id, message id, or the name of a channel or user. */
export const ID_MAX_CHARACTERS = 128;
/** Code points of a button's action. */
export const ACTION_MAX_CHARACTERS = 512;
/** Code points of the text of a `command`. */
export const COMMAND_TEXT_MAX_CHARACTERS = 2_000;
/** Code points of the text of an inbound `message`. */
export const MESSAGE_TEXT_MAX_CHARACTERS = 4_000;

/** Seconds that the service remembers a request id. */
export const REQUEST_ID_SECONDS = 1 * DAY_SECONDS;
/** Seconds that the service holds an event for polling. */
export const HELD_SECONDS = 1 * DAY_SECONDS;
/** Milliseconds that a retired signing secret stays valid. */
export const ROTATION_OVERLAP_MS = 1 * DAY_SECONDS * SECOND_MS;

/** Events of one page; also the default of `limit`. */
export const PAGE_MAX_EVENTS = 100;
/** Decimal digits of a cursor. */
export const CURSOR_MAX_DIGITS = 18;
/** Recommended milliseconds between two polls. */
export const POLL_INTERVAL_MS = 2 * SECOND_MS;
/** Milliseconds without a poll, while events wait, after which polling fails. */
export const FAILING_AFTER_MS = 5 * MINUTE_MS;
/** Milliseconds within which a bridge must have polled for a test event to succeed. */
export const POLLED_LATELY_MS = MINUTE_MS;

/** Milliseconds that a bridge has to answer a push. */
export const PUSH_DEADLINE_MS = 5 * SECOND_MS;
/** Milliseconds from a push's first failure to each retry ("Delivery, retries and expiry"). */
export const RETRY_OFFSETS_MS = [1 * SECOND_MS, 4 * SECOND_MS] as const;
/** Milliseconds that a bridge holds an update without a mapped message. */
export const UPDATE_HOLD_MS = 5 * SECOND_MS;

/** Milliseconds from creation to expiry, of an ephemeral message or a ping. */
export const SHORT_LIFETIME_MS = MINUTE_MS;
/** Milliseconds from creation to expiry, of a message of a live game or an answer to a command. */
export const LIVE_LIFETIME_MS = 10 * MINUTE_MS;
