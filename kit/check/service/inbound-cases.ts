import { DM_CHANNEL_MAX_CHARACTERS, DM_PREFIX } from "../../../contract/forms";
import { ID_MAX_CHARACTERS } from "../../../contract/numbers";
import { INBOUND_TYPES as ALL } from "../../../contract/messages";
import { ALL_SAMPLES, EMOJI } from "../events/text-samples";
import { TEXT_RULES, type TextRule } from "../inbound-fields";

/** Test cases derived from the contract's tables of inbound events. */

const USER = { id: "chat-bridge-check-user" };
const CHANNEL = "chat-bridge-check";

/**
 * One harmless event of each type: no game expects the action or the message, and the empty command only asks for help.
 */
export const EVENTS = {
  command: { type: "command", channel: CHANNEL, user: USER, text: "" },
  action: { type: "action", channel: CHANNEL, user: USER, messageId: "msg_none", action: "check:none" },
  message: { type: "message", channel: CHANNEL, user: USER, text: "chat-bridge-check" },
} as const;

type Fields = Readonly<Record<string, unknown>>;

/** An event that the service must accept, or reject with a `400` that names `field`. */
export interface InboundCase {
  readonly what: string;
  readonly event: unknown;
  /** The invalid field; undefined if the event must be accepted. */
  readonly field?: string;
}

const accepted = (what: string, event: unknown): InboundCase => ({ what, event });
const refused = (what: string, event: unknown, field: string): InboundCase => ({ what, event, field });

/**
 * Returns the valid and invalid cases of a field. If events of every type have the field, the valid cases are messages
 * only, because a game may act on a command or an action.
 */
function casesOf({ field, of, least, most, isOptional, mayBeNull }: TextRule): readonly InboundCase[] {
  return of.flatMap((type) => {
    const to = (value: unknown) => withField(EVENTS[type], field, value);
    const name = `${type === "action" ? "an" : "a"} ${type} whose ${field}`;
    const refuse = (what: string, value: unknown) => refused(`${name} ${what}`, to(value), field);
    const take = (what: string, value: unknown): readonly InboundCase[] =>
      of === ALL && type !== "message" ? [] : [accepted(`${name} ${what}`, to(value))];
    const missing = isOptional === true ? take("is missing", undefined) : [refuse("is missing", undefined)];
    return [
      ...missing,
      ...take(`has ${least} characters`, textOf(least)),
      ...take(`has ${most} characters`, textOf(most)),
      ...take("has characters of all kinds", unusualText(most)),
      ...take(`has ${most} characters above U+FFFF`, EMOJI.repeat(most)),
      ...(least === 0 ? [] : [refuse("is empty", "")]),
      refuse(`has ${most + 1} characters`, textOf(most + 1)),
      refuse(`has ${most + 1} characters above U+FFFF`, EMOJI.repeat(most + 1)),
      ...(mayBeNull === true ? take("is null", null) : [refuse("is null", null)]),
      refuse("is a number", 7),
    ];
  });
}

export const TEXT_CASES = TEXT_RULES.flatMap(casesOf);

const UNUSUAL = "größe 😀";

const { command, action, message } = EVENTS;
const { id: me } = USER;

/** Events with an unknown type or field, or without a valid type or user object; the service must reject them. */
export const UNKNOWN_CASES: readonly InboundCase[] = [
  refused("an event without a type", { ...message, type: undefined }, "type"),
  refused("an event of an unknown type", { ...message, type: "ping" }, "type"),
  refused("an event whose type is null", { ...message, type: null }, "type"),
  refused("an empty object", {}, "type"),
  refused("an unknown field outside ASCII", { ...message, [UNUSUAL]: 1 }, UNUSUAL),
  ...ALL.flatMap((type) => [
    refused(`an unknown field in a ${type}`, { ...EVENTS[type], extra: 1 }, "extra"),
    refused(
      `an unknown field in the channel of a ${type}`,
      withField(EVENTS[type], "channel.extra", 1),
      "channel.extra",
    ),
    refused(
      `an unknown field in the user of a ${type}`,
      withField(EVENTS[type], "user.extra", 1),
      "user.extra",
    ),
    refused(`an event of the type ${type} whose user is a string`, { ...EVENTS[type], user: me }, "user"),
    refused(`an event of the type ${type} without a user`, { ...EVENTS[type], user: undefined }, "user"),
  ]),
  refused("a command with replyTo", { ...command, replyTo: null }, "replyTo"),
  refused("an action with text", { ...action, text: "x" }, "text"),
  refused("a message with action", { ...message, action: "x" }, "action"),
];

const UNUSUAL_ID = unusualText(ID_MAX_CHARACTERS);
const longDm = (length: number) => DM_PREFIX + "u".repeat(length - DM_PREFIX.length);

/** A DM channel is `dm:` followed by the event's own `user.id`, and is valid only in actions and messages. */
export const DM_CASES: readonly InboundCase[] = [
  accepted("a message in the member's own DM", { ...message, channel: `dm:${me}` }),
  accepted("an action in the member's own DM", { ...action, channel: { id: `dm:${me}` } }),
  accepted(`a DM channel of ${DM_CHANNEL_MAX_CHARACTERS} characters`, {
    ...message,
    channel: longDm(DM_CHANNEL_MAX_CHARACTERS),
    user: { id: longDm(DM_CHANNEL_MAX_CHARACTERS).slice(DM_PREFIX.length) },
  }),
  accepted("a DM channel of a user whose id has characters of all kinds", {
    ...message,
    channel: DM_PREFIX + UNUSUAL_ID,
    user: { id: UNUSUAL_ID },
  }),
  refused(
    "a DM channel that has the user's id in another normalization form",
    { ...message, channel: `${DM_PREFIX}${"é".normalize("NFD")}`, user: { id: "é".normalize("NFC") } },
    "channel",
  ),
  refused(
    "a DM channel that has the user's id in lower case",
    { ...message, channel: `${DM_PREFIX}u`, user: { id: "U" } },
    "channel",
  ),
  refused(
    "a DM channel that has the user's id without a space at its end",
    { ...message, channel: `${DM_PREFIX}u`, user: { id: "u " } },
    "channel",
  ),
  refused("a command in a DM", { ...command, channel: `dm:${me}` }, "channel"),
  refused("a command whose DM channel is an object", { ...command, channel: { id: `dm:${me}` } }, "channel"),
  refused("a message in another member's DM", { ...message, channel: `dm:${me}2` }, "channel"),
  refused("an action in another member's DM", { ...action, channel: { id: "dm:u2" } }, "channel"),
  refused("a message whose channel is dm: without a user id", { ...message, channel: "dm:" }, "channel"),
];

/**
 * Returns `event` with `value` at the dotted path `path`. A channel that is a string becomes an object with this id.
 */
function withField(event: Fields, path: string, value: unknown): Fields {
  const [first = "", inner] = path.split(".");
  if (inner === undefined) return { ...event, [first]: value };
  const before = event[first];
  const object = typeof before === "object" ? before : { id: before };
  return { ...event, [first]: { ...object, [inner]: value } };
}

/** Returns `length` characters of text that no chat uses as the id of a channel. */
function textOf(length: number): string {
  return "chat-bridge-check ".repeat(Math.ceil(length / 18)).slice(0, length);
}

/**
 * Returns characters of all kinds, at most `length`. The first character is white space, because ids are opaque and
 * must not be trimmed.
 */
function unusualText(length: number): string {
  return Array.from(` ${ALL_SAMPLES}`).slice(0, length).join("");
}
