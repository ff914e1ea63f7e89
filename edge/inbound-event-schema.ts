/**
 * The contract's `InboundEvent` as JSON Schema, one schema for each type. Properties
 * are in the order of the contract's field table, because faults are searched for in
 * this order. Lengths count code points.
 */

const ID_MAX = 128;
const DM_CHANNEL_ID_MAX = 131;

/** A string without lone surrogates. A string with them is not Unicode text, and could not be stored unchanged. */
const text = (minLength: number, maxLength: number) => ({
  type: "string",
  minLength,
  maxLength,
  wellFormed: true,
});
const optionalText = (maxLength: number) => ({ ...text(0, maxLength), type: ["string", "null"] });

const channelId = { ...text(1, ID_MAX), not: { pattern: "^dm:" } };
const dmChannelId = { ...text(4, DM_CHANNEL_ID_MAX), pattern: "^dm:" };
const memberChannelId = { anyOf: [channelId, dmChannelId] };

const channelObject = (id: object) => ({
  type: "object",
  properties: { id, name: optionalText(ID_MAX) },
  required: ["id"],
  additionalProperties: false,
});
/** A bare id, or an object with the id. */
const channel = (id: object) => ({
  if: { type: "object" },
  then: channelObject(id),
  else: id,
});

const user = {
  type: "object",
  properties: { id: text(1, ID_MAX), name: optionalText(ID_MAX) },
  required: ["id"],
  additionalProperties: false,
};

const requestId = text(1, ID_MAX);

function event(type: string, required: readonly string[], properties: Readonly<Record<string, object>>) {
  return {
    type: "object",
    properties: { type: { const: type }, id: requestId, ...properties },
    required: ["type", ...required],
    additionalProperties: false,
  };
}

export const INBOUND_EVENT_SCHEMAS = {
  command: event("command", ["channel", "user", "text"], {
    channel: channel(channelId),
    user,
    text: text(0, 2000),
  }),
  action: event("action", ["channel", "user", "messageId", "action"], {
    channel: channel(memberChannelId),
    user,
    messageId: text(1, ID_MAX),
    action: text(1, 512),
  }),
  message: event("message", ["channel", "user", "text"], {
    channel: channel(memberChannelId),
    user,
    text: text(1, 4000),
    replyTo: optionalText(ID_MAX),
  }),
} as const;

export type InboundType = keyof typeof INBOUND_EVENT_SCHEMAS;

/** An inbound event that its schema accepts. */
export type InboundEventBody = {
  readonly id?: string;
  readonly channel: string | { readonly id: string; readonly name?: string | null };
  readonly user: { readonly id: string; readonly name?: string | null };
} & (
  | { readonly type: "command"; readonly text: string }
  | { readonly type: "action"; readonly messageId: string; readonly action: string }
  | { readonly type: "message"; readonly text: string; readonly replyTo?: string | null }
);
