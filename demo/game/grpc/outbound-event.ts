import { Message } from "../../../proto/gen/chatbridge/v1/event";
import { OutboundEvent } from "../../../proto/gen/chatbridge/v1/game";
import type { Output } from "../rules/input-output";

/** An output to publish. */
export interface Posting {
  readonly workspaceId: string;
  readonly idempotencyKey: string;
  readonly output: Output;
}

/**
 * Returns the event to publish. `messageId` is the id of the message to update, and is ignored if the output is not an
 * update.
 */
export function toOutboundEvent(
  { workspaceId, idempotencyKey, output }: Posting,
  messageId: string,
): OutboundEvent {
  const seconds = output.type === "dm.create" ? output.lifetimeSeconds : undefined;
  return OutboundEvent.create({
    workspaceId,
    idempotencyKey,
    ...(seconds === undefined ? {} : { lifetime: { seconds } }),
    content: toContent(output, messageId),
  });
}

function toContent(output: Output, id: string): NonNullable<OutboundEvent["content"]> {
  const message = Message.create(output.content);
  switch (output.type) {
    case "message.create":
      return { $case: "messageCreate", value: { channel: output.channel, message } };
    case "message.update":
      return { $case: "messageUpdate", value: { channel: output.channel, message: { ...message, id } } };
    case "message.ephemeral":
      return { $case: "messageEphemeral", value: { channel: output.channel, user: output.user, message } };
    case "dm.create":
      return { $case: "dmCreate", value: { user: output.user, message } };
  }
}
