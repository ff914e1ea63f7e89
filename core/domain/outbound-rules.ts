import { isBlank } from "./blank-text";
import { ACTION_MAX_CHARACTERS, ID_MAX_CHARACTERS } from "../../contract/numbers";
import { DM_CHANNEL_MAX_CHARACTERS, DM_PREFIX, MESSAGE_ID_FORM } from "../../contract/forms";
import { LIFETIME_MAX_MS, LIFETIME_MIN_MS } from "./bounds";
import type { Button, MessageBody, OutboundEvent } from "./outbound-event";

/**
 * The first rule that an outbound event breaks. `field` is relative to the event's content, unless it is
 * `idempotency_key` or `lifetime`, or starts with `fence.`.
 */
export interface OutboundFault {
  readonly field: string;
  readonly message: string;
}

/** Returns the first rule that `event` breaks, or undefined. */
export function findOutboundFault(event: OutboundEvent): OutboundFault | undefined {
  const { content } = event;
  return (
    (content.type === "dm.create" ? undefined : channelFault(content.channel, content.type)) ??
    ("user" in content ? idFault("user", content.user, ID_MAX_CHARACTERS) : undefined) ??
    (content.type === "message.update" && !MESSAGE_ID_FORM.test(content.messageId)
      ? fault("message.id", "must be the message_id that core returned for the original message")
      : undefined) ??
    messageFault(content.message) ??
    idempotencyKeyFault(event.idempotencyKey) ??
    lifetimeFault(event.lifetimeMs)
  );
}

function channelFault(channel: string, type: OutboundEvent["content"]["type"]): OutboundFault | undefined {
  if (!channel.startsWith(DM_PREFIX)) return idFault("channel", channel, ID_MAX_CHARACTERS);
  if (type !== "message.update") return fault("channel", "must not start with dm:; use dm_create");
  if (channel === DM_PREFIX) return fault("channel", "must name a user after dm:");
  return idFault("channel", channel, DM_CHANNEL_MAX_CHARACTERS);
}

function messageFault(body: MessageBody): OutboundFault | undefined {
  if (!body.text.isWellFormed()) return fault("message.text", "must be well-formed Unicode");
  if (body.kind === "text" && body.buttons.length > 0) {
    return fault("message.rows", "must be empty for the kind text, which has no buttons");
  }
  if (body.kind === "text" && body.data !== null) {
    return fault("message.data", "must be unset for the kind text, which has no data");
  }
  for (const [r, row] of body.buttons.entries()) {
    if (row.length === 0) return fault(`message.rows[${r}]`, "must have at least one button");
    for (const [b, button] of row.entries()) {
      const found = buttonFault(`message.rows[${r}].buttons[${b}]`, button);
      if (found) return found;
    }
  }
  if (body.image !== null && !isHttpUri(body.image)) {
    return fault("message.image", "must be an absolute http or https URI");
  }
  // This rule applies to every kind: a bridge that does not draw the data would show an empty post.
  if (isBlank(body.text) && body.buttons.length === 0 && body.image === null) {
    return fault("message.text", "must not be blank unless the message has buttons or an image");
  }
  return undefined;
}

function buttonFault(path: string, button: Button): OutboundFault | undefined {
  if (button.label === "" || !button.label.isWellFormed()) {
    return fault(`${path}.label`, "must be non-empty, well-formed text");
  }
  if ("action" in button) return idFault(`${path}.action`, button.action, ACTION_MAX_CHARACTERS);
  return isLinkUri(button.url)
    ? undefined
    : fault(`${path}.url`, "must be an absolute http, https or mailto URI");
}

function idempotencyKeyFault(key: string): OutboundFault | undefined {
  return key === "" ? undefined : idFault("idempotency_key", key, ID_MAX_CHARACTERS);
}

function lifetimeFault(lifetimeMs: number | undefined): OutboundFault | undefined {
  if (lifetimeMs === undefined || (lifetimeMs >= LIFETIME_MIN_MS && lifetimeMs <= LIFETIME_MAX_MS))
    return undefined;
  return fault("lifetime", "must be 1 second to 24 hours");
}

function idFault(field: string, value: string, max: number): OutboundFault | undefined {
  // A character is one or two UTF-16 units, so a string of at most `max` units is short enough.
  const isShort = value.length <= max || [...value].length <= max;
  if (value !== "" && isShort && value.isWellFormed()) return undefined;
  return fault(field, `must be 1 to ${max} characters of well-formed Unicode`);
}

/**
 * The characters that RFC 3986 allows. `URL` accepts spaces and other invalid characters too, and corrects them. But a
 * bridge might use the URI without these corrections.
 */
const URI_FORM =
  /^[a-z][a-z\d+.-]*:(?:[\w.~:/?[\]@!$&'()*+,;=-]|%[\da-f]{2})+(?:#(?:[\w.~:/?@!$&'()*+,;=-]|%[\da-f]{2})*)?$/i;

function isUri(text: string): boolean {
  return URI_FORM.test(text) && URL.canParse(text);
}

function isHttpUri(text: string): boolean {
  return isUri(text) && /^https?:\/\//i.test(text);
}

/**
 * Whether a URI is http, https or mailto. No other scheme is allowed: a bridge may put the URI into a web page
 * unchanged, where a `javascript:` URI would run.
 */
function isLinkUri(text: string): boolean {
  return isHttpUri(text) || (isUri(text) && /^mailto:/i.test(text));
}

function fault(field: string, message: string): OutboundFault {
  return { field, message: `${field} ${message}` };
}
