import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { Button as ButtonInput, Message as MessageInput } from "../kit/events";
import { MESSAGE_KINDS, OUTBOUND_TYPES, type OutboundType } from "../contract/messages";
import { Message, MessageKind, type Button } from "../proto/gen/chatbridge/v1/event";
import { OutboundEvent } from "../proto/gen/chatbridge/v1/game";
import { EXIT } from "./exit-code";
import { CliFailure } from "./failure";

/**
 * An event as the user writes it: the fields of the contract's envelope, except those that core sets, plus
 * `idempotencyKey` and `lifetimeSeconds`.
 */
export interface EventInput {
  readonly type?: Exclude<OutboundType, "ping">;
  readonly channel?: string;
  readonly user?: string;
  /** `id` is set only in an update, and is the id of the message to update. */
  readonly message: Pick<MessageInput, "text"> & Partial<MessageInput>;
  readonly idempotencyKey?: string;
  readonly lifetimeSeconds?: number;
}

/** The types of events that games publish. */
export const EVENT_TYPES = OUTBOUND_TYPES.filter((type) => type !== "ping");

const string = { type: "string" };
const button = {
  type: "object",
  properties: { label: string, action: string, url: string },
  required: ["label"],
  additionalProperties: false,
  oneOf: [{ required: ["action"] }, { required: ["url"] }],
};
/**
 * JSON schema for the names and types of the fields. Core checks the values, and core's error names the invalid field.
 */
const SCHEMA = {
  type: "object",
  properties: {
    type: { enum: EVENT_TYPES },
    channel: string,
    user: string,
    message: {
      type: "object",
      properties: {
        id: string,
        kind: { enum: MESSAGE_KINDS },
        text: string,
        buttons: { type: "array", items: { type: "array", items: button } },
        image: { type: ["string", "null"] },
        awaitsReply: { type: "boolean" },
        data: { type: ["object", "null"] },
      },
      required: ["text"],
      additionalProperties: false,
    },
    idempotencyKey: string,
    lifetimeSeconds: { type: "number" },
  },
  required: ["message"],
  additionalProperties: false,
};

let compiled: ValidateFunction<EventInput> | undefined;
/** Compiles the schema at the first use, because compiling it at startup would slow down every command. */
const validator = (): ValidateFunction<EventInput> =>
  (compiled ??= new Ajv2020({ strict: false, logger: false }).compile(SCHEMA));

/** Reads one event from JSON. Throws a `CliFailure` for invalid JSON or an invalid field. */
export function readEventJson(text: string): EventInput {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CliFailure(EXIT.DATA, `the event is not JSON: ${(error as Error).message}`);
  }
  return checkEvent(value);
}

export function checkEvent(value: unknown): EventInput {
  const validate = validator();
  if (validate(value)) return value;
  const [fault] = validate.errors ?? [];
  const where = fault?.instancePath.slice(1).replaceAll("/", ".") || "the event";
  const { additionalProperty, allowedValues } = (fault?.params ?? {}) as {
    readonly additionalProperty?: string;
    readonly allowedValues?: readonly string[];
  };
  const what =
    additionalProperty === undefined
      ? `${fault?.message ?? "is invalid"}${allowedValues === undefined ? "" : `: ${allowedValues.join(", ")}`}`
      : `must not have ${additionalProperty}`;
  throw new CliFailure(EXIT.DATA, `${where} ${what}`);
}

/**
 * Returns the event to publish. The default type is `message.create`. The default kind is `card` for a message with
 * buttons or data, or else `text`.
 */
export function toOutboundEvent(workspaceId: string, input: EventInput): OutboundEvent {
  const { idempotencyKey = "", lifetimeSeconds } = input;
  return OutboundEvent.create({
    workspaceId,
    content: toContent(input),
    idempotencyKey,
    ...(lifetimeSeconds === undefined ? {} : { lifetime: toDuration(lifetimeSeconds) }),
  });
}

function toContent(input: EventInput): NonNullable<OutboundEvent["content"]> {
  const { channel = "", user = "" } = input;
  const message = toMessage(input.message);
  switch (input.type ?? "message.create") {
    case "message.create":
      return { $case: "messageCreate", value: { channel, message } };
    case "message.update":
      return { $case: "messageUpdate", value: { channel, message } };
    case "message.ephemeral":
      return { $case: "messageEphemeral", value: { channel, user, message } };
    case "dm.create":
      return { $case: "dmCreate", value: { user, message } };
  }
}

function toMessage({
  id = "",
  kind,
  text,
  buttons = [],
  image,
  awaitsReply = false,
  data,
}: EventInput["message"]) {
  const isPlain = buttons.length === 0 && (data ?? null) === null;
  const name = kind ?? (isPlain ? "text" : "card");
  return Message.create({
    id,
    kind: MessageKind[name.toUpperCase() as keyof typeof MessageKind],
    text,
    rows: buttons.map((row) => ({ buttons: row.map(toButton) })),
    image: image ?? undefined,
    awaitsReply,
    data: data ?? undefined,
  });
}

function toButton(button: ButtonInput): Button {
  return {
    label: button.label,
    press:
      "action" in button ? { $case: "action", value: button.action } : { $case: "url", value: button.url },
  };
}

function toDuration(all: number): { readonly seconds: number; readonly nanos: number } {
  const seconds = Math.trunc(all);
  return { seconds, nanos: Math.round((all - seconds) * 1e9) };
}
