import { DM_CHANNEL_MAX_CHARACTERS, DM_PREFIX } from "../../contract/forms";
import type { InboundType } from "../../contract/messages";
import {
  ACTION_MAX_CHARACTERS,
  COMMAND_TEXT_MAX_CHARACTERS,
  ID_MAX_CHARACTERS,
  MESSAGE_TEXT_MAX_CHARACTERS,
} from "../../contract/numbers";

/**
 * The contract's `InboundEvent` as JSON Schema, one schema for each type. The properties are in the order of the
 * contract's field table, because the edge searches for the first fault in this order. Lengths are in code points.
 */

/** A string without lone surrogates, which are not Unicode text and cannot be stored unchanged. */
const text = (minLength: number, maxLength: number) => ({
  type: "string",
  minLength,
  maxLength,
  wellFormed: true,
});
const optionalText = (maxLength: number) => ({ ...text(0, maxLength), type: ["string", "null"] });

const channelId = { ...text(1, ID_MAX_CHARACTERS), not: { pattern: `^${DM_PREFIX}` } };
const dmChannelId = { ...text(DM_PREFIX.length + 1, DM_CHANNEL_MAX_CHARACTERS), pattern: `^${DM_PREFIX}` };
const memberChannelId = { anyOf: [channelId, dmChannelId] };

const channelObject = (id: object) => ({
  type: "object",
  properties: { id, name: optionalText(ID_MAX_CHARACTERS) },
  required: ["id"],
  additionalProperties: false,
});
/** A channel: either its id, or an object that contains the id. */
const channel = (id: object) => ({
  if: { type: "object" },
  then: channelObject(id),
  else: id,
});

const user = {
  type: "object",
  properties: { id: text(1, ID_MAX_CHARACTERS), name: optionalText(ID_MAX_CHARACTERS) },
  required: ["id"],
  additionalProperties: false,
};

const requestId = text(1, ID_MAX_CHARACTERS);

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
    text: text(0, COMMAND_TEXT_MAX_CHARACTERS),
  }),
  action: event("action", ["channel", "user", "messageId", "action"], {
    channel: channel(memberChannelId),
    user,
    messageId: text(1, ID_MAX_CHARACTERS),
    action: text(1, ACTION_MAX_CHARACTERS),
  }),
  message: event("message", ["channel", "user", "text"], {
    channel: channel(memberChannelId),
    user,
    text: text(1, MESSAGE_TEXT_MAX_CHARACTERS),
    replyTo: optionalText(ID_MAX_CHARACTERS),
  }),
} as const satisfies Readonly<Record<InboundType, object>>;

/** An inbound event that has passed validation against its schema. */
export type InboundEventBody = {
  readonly id?: string;
  readonly channel: string | { readonly id: string; readonly name?: string | null };
  readonly user: { readonly id: string; readonly name?: string | null };
} & (
  | { readonly type: "command"; readonly text: string }
  | { readonly type: "action"; readonly messageId: string; readonly action: string }
  | { readonly type: "message"; readonly text: string; readonly replyTo?: string | null }
);
