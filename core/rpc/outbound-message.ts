import { KIND_WORDS } from "../../proto/codes";
import type { Message } from "../../proto/gen/chatbridge/v1/event";
import type { OutboundEvent as EventMessage } from "../../proto/gen/chatbridge/v1/game";
import type { Button, MessageBody, OutboundContent, OutboundEvent } from "../domain/outbound-event";
import type { OutboundFault } from "../domain/outbound-rules";

const MESSAGE_PATHS = {
  messageCreate: "message_create.message",
  messageUpdate: "message_update.message",
  messageEphemeral: "message_ephemeral.message",
  dmCreate: "dm_create.message",
} as const;

/** Fields that belong to the event itself, not to its content. */
const EVENT_FIELDS = new Set([
  "idempotency_key",
  "lifetime",
  "fence.stream_id",
  "fence.delivery_id",
  "fence.attempt",
]);

/**
 * Returns the full name of the invalid field, as in the proto. In the proto, the field of the content is named after
 * the content's type, e.g. `dm_create`.
 */
export function faultField({ content }: OutboundEvent, { field }: OutboundFault): string {
  return EVENT_FIELDS.has(field) ? field : `${content.type.replace(".", "_")}.${field}`;
}

/** Returns the event in the form that the rules of `core/domain` check, or the first fault of the event. */
export function readOutboundEvent(
  event: EventMessage,
): { readonly event: OutboundEvent } | { readonly fault: OutboundFault } {
  const { content } = event;
  if (content === undefined)
    return fault(
      "content",
      "one of message_create, message_update, message_ephemeral and dm_create is required",
    );
  const message = content.value.message;
  const path = MESSAGE_PATHS[content.$case];
  if (message === undefined) return fault(path, `${path} is required`);
  if (content.$case !== "messageUpdate" && message.id !== "") {
    return fault(`${path}.id`, `${path}.id must be empty: the service assigns the id and returns it`);
  }
  const body = readMessage(message);
  if (typeof body === "string") return fault(`${path}.${body}`, `${path}.${body} is required`);
  return {
    event: {
      workspaceId: event.workspaceId,
      content: toContent(content, message.id, body),
      idempotencyKey: event.idempotencyKey,
      lifetimeMs: event.lifetime && event.lifetime.seconds * 1000 + event.lifetime.nanos / 1e6,
      fence: event.fence,
    },
  };
}

function toContent(
  content: NonNullable<EventMessage["content"]>,
  messageId: string,
  message: MessageBody,
): OutboundContent {
  switch (content.$case) {
    case "messageCreate":
      return { type: "message.create", channel: content.value.channel, message };
    case "messageUpdate":
      return { type: "message.update", channel: content.value.channel, messageId, message };
    case "messageEphemeral":
      return { type: "message.ephemeral", channel: content.value.channel, user: content.value.user, message };
    case "dmCreate":
      return { type: "dm.create", user: content.value.user, message };
  }
}

/** Returns the message, or the name of the first missing field. */
function readMessage(message: Message): MessageBody | string {
  const kind = KIND_WORDS.get(message.kind);
  if (kind === undefined) return "kind";
  const buttons: Button[][] = [];
  for (const [r, row] of message.rows.entries()) {
    const read: Button[] = [];
    for (const [b, { label, press }] of row.buttons.entries()) {
      if (press === undefined) return `rows[${r}].buttons[${b}].press`;
      read.push(press.$case === "action" ? { label, action: press.value } : { label, url: press.value });
    }
    buttons.push(read);
  }
  return {
    kind,
    text: message.text,
    buttons,
    image: message.image ?? null,
    awaitsReply: message.awaitsReply,
    data: message.data ?? null,
  };
}

function fault(field: string, message: string): { readonly fault: OutboundFault } {
  return { fault: { field, message } };
}
