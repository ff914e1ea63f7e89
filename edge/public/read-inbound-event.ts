import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import type { InboundType } from "../../contract/messages";
import { DM_PREFIX } from "../../contract/forms";
import type { InboundEvent } from "../../proto/gen/chatbridge/v1/event";
import type { ReceiveRequest } from "../../proto/gen/chatbridge/v1/bridge";
import { INBOUND_EVENT_SCHEMAS, type InboundEventBody } from "./inbound-event-schema";

/** Maximum characters of an unknown field's name in an answer. A longer name is cut. */
const FIELD_NAME_MAX = 256;

const ajv = new Ajv2020({
  strict: true,
  strictTypes: false,
  ownProperties: true,
  logger: false,
  // Ajv does not check the schemas here, because it would compile the meta-schema at each start. A unit test checks the
  // schemas instead.
  validateSchema: false,
});
ajv.addKeyword({
  keyword: "wellFormed",
  type: "string",
  schemaType: "boolean",
  validate: (_wanted: boolean, data: string) => data.isWellFormed(),
});

type Reading = NonNullable<ReceiveRequest["reading"]>;

interface Schema {
  readonly type?: string | readonly string[];
  /** The fields, in the contract's order. */
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly then?: Schema;
}

const VALID = Object.fromEntries(
  Object.entries(INBOUND_EVENT_SCHEMAS).map(([type, schema]) => [
    type,
    ajv.compile<InboundEventBody>(schema),
  ]),
) as Readonly<Record<InboundType, ValidateFunction<InboundEventBody>>>;
/** Returns the schema of a field's inner fields; undefined when the field cannot be an object. */
function fieldsOf(property: Schema): Schema | undefined {
  return property.type === "object" ? property : property.then;
}

/** Returns the event in a JSON body, or the body's first violation of the field rules (check 7 in docs/checks.md). */
export function readInboundEvent(body: unknown): Reading {
  if (!isObject(body)) return violation(undefined, "the body must be a JSON object");
  const { type } = body;
  if (!Object.hasOwn(body, "type")) return violation("type", "type is required");
  if (!isInboundType(type)) return violation("type", "type must be command, action or message");
  const isValid = VALID[type];
  if (!isValid(body)) return violationOf(body, INBOUND_EVENT_SCHEMAS[type] as Schema);
  return namesAnotherMember(body) ? otherMember() : { $case: "event", value: toMessage(body) };
}

/** Returns the first fault of a body. Known fields are checked in the contract's order, then unknown fields. */
function violationOf(body: Readonly<Record<string, unknown>>, schema: Schema): Reading {
  for (const name of Object.keys(schema.properties ?? {})) {
    const found = findFieldFault(body, name, schema);
    if (name === "channel" && isDm(body["channel"])) {
      // If a DM id is invalid, the answer names `channel`, not `channel.id`, even if the id is in an object.
      if (found?.field === "channel" || found?.field === "channel.id") return noDmHere();
      if (namesAnotherMember(body)) return otherMember();
    }
    if (found !== undefined) return violation(found.field, `${found.field} ${found.message}`);
  }
  const unknown = findUnknownField(body, schema);
  if (unknown === undefined) throw new Error("a body violates its schema, but no faulty field was found");
  return violation(unknown, `${unknown} is not a known field`);
}

interface FieldFault {
  readonly field: string;
  readonly message: string;
}

function findFieldFault(
  object: Readonly<Record<string, unknown>>,
  name: string,
  { properties, required }: Schema,
): FieldFault | undefined {
  if (!Object.hasOwn(object, name)) {
    return required?.includes(name) ? { field: name, message: "is required" } : undefined;
  }
  const value = object[name];
  const property = properties?.[name] ?? {};
  // Ajv compiles the schema of a field at the first call, and caches the compiled schema.
  if (ajv.validate(property, value)) return undefined;
  const fault = { field: name, message: wording(ajv.errors?.[0]) };
  const inner = fieldsOf(property);
  if (inner === undefined || !isObject(value)) return fault;
  for (const innerName of Object.keys(inner.properties ?? {})) {
    const found = findFieldFault(value, innerName, inner);
    if (found !== undefined) return { ...found, field: `${name}.${found.field}` };
  }
  const unknown = findUnknownField(value, inner);
  return unknown === undefined ? fault : { field: `${name}.${unknown}`, message: "is not a known field" };
}

/**
 * Returns the message for an error of Ajv. For any keyword that the `switch` does not list, returns Ajv's own message.
 */
function wording(error: ErrorObject | undefined): string {
  switch (error?.keyword) {
    case "wellFormed":
      return "must be well-formed Unicode";
    case "minLength":
      return "must not be empty";
    case "maxLength":
      return `must have at most ${error.params["limit"]} characters`;
    default:
      return error?.message ?? "is not valid";
  }
}

function findUnknownField(
  object: Readonly<Record<string, unknown>>,
  { properties = {} }: Schema,
): string | undefined {
  return Object.keys(object)
    .find((name) => !Object.hasOwn(properties, name))
    ?.slice(0, FIELD_NAME_MAX);
}

/** Whether the channel is the DM of a member other than the event's user. */
function namesAnotherMember(body: Readonly<Record<string, unknown>> | InboundEventBody): boolean {
  if (!isDm(body.channel)) return false;
  const user: unknown = body.user;
  return (
    isObject(user) && typeof user["id"] === "string" && channelId(body.channel) !== DM_PREFIX + user["id"]
  );
}

function isDm(channel: unknown): boolean {
  return channelId(channel)?.startsWith(DM_PREFIX) ?? false;
}

function channelId(channel: unknown): string | undefined {
  const id = isObject(channel) ? channel["id"] : channel;
  return typeof id === "string" ? id : undefined;
}

function noDmHere() {
  return violation(
    "channel",
    "channel must not be a direct conversation in a command; in other events, it is dm: followed by the event's own user.id",
  );
}

function otherMember() {
  return violation("channel", "channel must be dm: followed by the event's own user.id");
}

function violation(field: string | undefined, message: string): Reading {
  return { $case: "violation", value: { field, message } };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isInboundType(type: unknown): type is InboundType {
  return typeof type === "string" && Object.hasOwn(INBOUND_EVENT_SCHEMAS, type);
}

function toMessage(body: InboundEventBody): InboundEvent {
  const { channel, user } = body;
  const { id, name } = typeof channel === "string" ? { id: channel, name: undefined } : channel;
  return {
    id: body.id,
    channel: { id, name: name ?? undefined },
    user: { id: user.id, name: user.name ?? undefined },
    kind: toKind(body),
  };
}

function toKind(body: InboundEventBody): NonNullable<InboundEvent["kind"]> {
  switch (body.type) {
    case "command":
      return { $case: "command", value: { text: body.text } };
    case "action":
      return { $case: "action", value: { messageId: body.messageId, action: body.action } };
    case "message":
      return { $case: "message", value: { text: body.text, replyTo: body.replyTo ?? undefined } };
  }
}
