import {
  ACTION_MAX_CHARACTERS,
  COMMAND_TEXT_MAX_CHARACTERS,
  ID_MAX_CHARACTERS,
  MESSAGE_TEXT_MAX_CHARACTERS,
} from "../../contract/numbers";
import { DM_CHANNEL_MAX_CHARACTERS, DM_PREFIX } from "../../contract/forms";
import { INBOUND_TYPES as ALL, type InboundType } from "../../contract/messages";
import { isObject } from "../read-event";

/** The contract's rule for a string field of an inbound event. */
export interface TextRule {
  /** Dotted path of the field. */
  readonly field: string;
  readonly of: readonly InboundType[];
  /** Minimum length, characters. */
  readonly least: number;
  /** Maximum length, characters. */
  readonly most: number;
  readonly isOptional?: true;
  readonly mayBeNull?: true;
}

/** The contract's tables of inbound events. */
export const TEXT_RULES: readonly TextRule[] = [
  { field: "id", of: ALL, least: 1, most: ID_MAX_CHARACTERS, isOptional: true },
  { field: "channel", of: ALL, least: 1, most: ID_MAX_CHARACTERS },
  { field: "channel.id", of: ALL, least: 1, most: ID_MAX_CHARACTERS },
  { field: "channel.name", of: ALL, least: 0, most: ID_MAX_CHARACTERS, isOptional: true, mayBeNull: true },
  { field: "user.id", of: ALL, least: 1, most: ID_MAX_CHARACTERS },
  { field: "user.name", of: ALL, least: 0, most: ID_MAX_CHARACTERS, isOptional: true, mayBeNull: true },
  { field: "text", of: ["command"], least: 0, most: COMMAND_TEXT_MAX_CHARACTERS },
  { field: "text", of: ["message"], least: 1, most: MESSAGE_TEXT_MAX_CHARACTERS },
  { field: "messageId", of: ["action"], least: 1, most: ID_MAX_CHARACTERS },
  { field: "action", of: ["action"], least: 1, most: ACTION_MAX_CHARACTERS },
  { field: "replyTo", of: ["message"], least: 0, most: ID_MAX_CHARACTERS, isOptional: true, mayBeNull: true },
];

/** The first fault of an inbound event. */
export interface InboundFault {
  /** Dotted path of the invalid field; "" for the whole body. */
  readonly field: string;
  /** Predicate without a subject, such as "is missing". */
  readonly says: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns a fault of an inbound event according to the contract's tables; undefined if there is none. */
export function inboundFault(event: unknown): InboundFault | undefined {
  if (!isObject(event)) return { field: "", says: "is not a JSON object" };
  const type = ALL.find((each) => each === event["type"]);
  if (type === undefined) return { field: "type", says: `is not one of ${ALL.join(", ")}` };
  if (!isObject(event["user"])) return { field: "user", says: "is not an object" };
  const rules = TEXT_RULES.filter(({ of }) => of.includes(type));
  return unknownField(event, rules) ?? dmFault(event, type) ?? textFault(event, rules);
}

function textFault(event: Fields, rules: readonly TextRule[]): InboundFault | undefined {
  const isPlain = !isObject(event["channel"]);
  for (const rule of rules) {
    const { field, least, most, isOptional, mayBeNull } = rule;
    // A channel is either an id or an object. The rules for the form that is not used are skipped.
    if (isPlain ? field.startsWith("channel.") : field === "channel") continue;
    const value = valueAt(event, field);
    if (value === undefined && isOptional !== true) return { field, says: "is missing" };
    if (value === undefined || (value === null && mayBeNull === true)) continue;
    if (typeof value !== "string") return { field, says: "is not a text" };
    if (!value.isWellFormed())
      return { field, says: "is not well-formed Unicode: it has half of a surrogate pair" };
    const isDm = field.startsWith("channel") && !field.endsWith(".name") && value.startsWith(DM_PREFIX);
    const longest = isDm ? DM_CHANNEL_MAX_CHARACTERS : most;
    const { length } = [...value];
    if (length < least || length > longest) {
      return { field, says: `has ${length} characters, not ${least} to ${longest}` };
    }
  }
  return undefined;
}

/** A DM channel is `dm:` followed by the event's own `user.id`, and is valid only in actions and messages. */
function dmFault(event: Fields, type: InboundType): InboundFault | undefined {
  const { channel } = event;
  const id = isObject(channel) ? channel["id"] : channel;
  if (typeof id !== "string" || !id.startsWith(DM_PREFIX)) return undefined;
  if (type === "command")
    return { field: "channel", says: "is a direct conversation, which has no commands" };
  const isOwn = id === `${DM_PREFIX}${String(valueAt(event, "user.id"))}`;
  return isOwn ? undefined : { field: "channel", says: 'is not "dm:" followed by the event\'s own user.id' };
}

function unknownField(event: Fields, rules: readonly TextRule[]): InboundFault | undefined {
  const known = new Set(["type", "user", ...rules.map(({ field }) => field)]);
  const paths = Object.entries(event).flatMap(([name, value]) =>
    name === "channel" || name === "user"
      ? [name, ...Object.keys(isObject(value) ? value : {}).map((inner) => `${name}.${inner}`)]
      : [name],
  );
  const field = paths.find((path) => !known.has(path));
  return field === undefined ? undefined : { field, says: "is not a field of this type of event" };
}

function valueAt(event: Fields, path: string): unknown {
  const [first = "", inner] = path.split(".");
  const value = event[first];
  if (inner === undefined) return value;
  return isObject(value) ? value[inner] : undefined;
}
