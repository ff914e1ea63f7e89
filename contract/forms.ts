import { CURSOR_MAX_DIGITS, ID_MAX_CHARACTERS } from "./numbers";

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
/** Maximum number of code points in the id of a DM channel. */
export const DM_CHANNEL_MAX_CHARACTERS = DM_PREFIX.length + ID_MAX_CHARACTERS;
