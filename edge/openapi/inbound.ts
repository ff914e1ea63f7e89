import { INBOUND_TYPES, type InboundType } from "../../contract/messages";
import { INBOUND_EVENT_SCHEMAS } from "../public/inbound-event-schema";
import { refTo, type Schema } from "./shape";

/**
 * A schema with which the edge validates events. The schema can contain our own keyword `wellFormed`, and an `if` that
 * distinguishes objects from strings.
 */
interface OwnSchema extends Omit<Schema, "items" | "properties" | "not" | "anyOf"> {
  readonly wellFormed?: boolean;
  readonly if?: OwnSchema;
  readonly then?: OwnSchema;
  readonly else?: OwnSchema;
  readonly properties?: Readonly<Record<string, OwnSchema>>;
  readonly not?: OwnSchema;
  readonly anyOf?: readonly OwnSchema[];
}

export interface InboundEvent {
  /** Name of the schema. */
  readonly name: string;
  readonly description: string;
  /** Outbound events that the event may cause. */
  readonly effects: string;
}

/** The contract's inbound events. */
export const INBOUND_EVENTS: Readonly<Record<InboundType, InboundEvent>> = {
  command: {
    name: "CommandEvent",
    description: "A member ran the command.",
    effects: "Games may answer with any outbound event.",
  },
  action: {
    name: "ActionEvent",
    description: "A member pressed a button.",
    effects: "Games may answer with any outbound event, mostly with updates and ephemeral messages.",
  },
  message: {
    name: "MessageEvent",
    description:
      "A member typed a message. A bridge may report every message of a channel: the service accepts each one, every " +
      "game gets it, and games drop a message that answers nothing in play. Only text can be reported: there is no " +
      "upload of pictures or files.",
    effects: "Games may answer with any outbound event, mostly with updates and ephemeral messages.",
  },
};

/** Descriptions of fields by name, except `text`. */
const FIELD_WORDS: Readonly<Record<string, string>> = {
  type: "The type of the event, which selects its schema.",
  id: "Request id, unique per request: a repeat within 24 hours is answered with 202 and ignored.",
  messageId: "`message.id` of the message that the button was on.",
  action: "The button's `action`, unchanged.",
  replyTo: "`message.id` of the message that the member replied to.",
};
const TEXT_WORDS: Readonly<Record<InboundType, string>> = {
  command:
    "The text after the command, for example a sub-command and its arguments. An empty text asks for help.",
  action: "",
  message: "The text that the member typed.",
};

const DM_WORDS =
  "The id of the member's direct conversation is `dm:` followed by exactly the event's own `user.id`. An event in " +
  "another member's direct conversation is rejected; `field` is then `channel`.";

/** Returns the schemas of the events that a bridge sends, generated from the schemas with which the edge checks them. */
export function inboundSchemas(): Readonly<Record<string, Schema>> {
  return {
    InboundEvent: {
      description: "Something that a member did. An event with unknown fields is rejected.",
      oneOf: INBOUND_TYPES.map((type) => refTo(INBOUND_EVENTS[type].name)),
      discriminator: {
        propertyName: "type",
        mapping: Object.fromEntries(
          INBOUND_TYPES.map((type) => [type, refTo(INBOUND_EVENTS[type].name).$ref ?? ""]),
        ),
      },
    },
    ...Object.fromEntries(INBOUND_TYPES.map((type) => [INBOUND_EVENTS[type].name, eventSchema(type)])),
    Channel: {
      description:
        "A channel, as its id or as an object with the id. The bridge chooses the id, which is opaque to the service. " +
        "The prefix `dm:` is reserved. Any Unicode characters are allowed.",
      ...toSchema(fieldsOf("command")["channel"]),
    },
    MemberChannel: {
      description: `A channel or a direct conversation. ${DM_WORDS}`,
      ...toSchema(fieldsOf("message")["channel"]),
    },
    User: {
      description:
        "A member. The id is opaque and must be stable, because scores and DMs depend on it. The name is shown in " +
        "results: send it whenever you know it. Any Unicode characters are allowed.",
      ...toSchema(fieldsOf("command")["user"]),
    },
  };
}

function fieldsOf(type: InboundType): Readonly<Record<string, OwnSchema>> {
  return INBOUND_EVENT_SCHEMAS[type].properties;
}

function eventSchema(type: InboundType): Schema {
  const { properties: _described, ...rest } = INBOUND_EVENT_SCHEMAS[type];
  const described = Object.entries(fieldsOf(type)).map(([field, schema]): [string, Schema] => {
    if (field === "channel") return [field, refTo(type === "command" ? "Channel" : "MemberChannel")];
    if (field === "user") return [field, refTo("User")];
    const words = field === "text" ? TEXT_WORDS[type] : (FIELD_WORDS[field] ?? "");
    return [field, { ...toSchema(schema), description: words }];
  });
  const { description, effects } = INBOUND_EVENTS[type];
  return { description: `${description} ${effects}`, ...rest, properties: Object.fromEntries(described) };
}

/** Returns the rules of the validator's schema in plain JSON Schema. */
function toSchema(own: OwnSchema | undefined): Schema {
  if (own === undefined) throw new Error("the schema of inbound events lacks a field that is documented");
  const { wellFormed, if: condition, then, else: otherwise, properties, not, anyOf, ...rest } = own;
  // The schema's `if` distinguishes objects from strings. A value of any other type matches neither schema.
  if (condition !== undefined) return { oneOf: [toSchema(otherwise), toSchema(then)] };
  return {
    ...rest,
    ...(wellFormed === undefined ? {} : { "x-well-formed": wellFormed }),
    ...(not === undefined ? {} : { not: toSchema(not) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(toSchema) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, schema]) => [name, toSchema(schema)]),
          ),
        }),
  };
}
