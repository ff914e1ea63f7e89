import { Message } from "../../../proto/gen/chatbridge/v1/event";
import { OutboundEvent } from "../../../proto/gen/chatbridge/v1/game";
import type { Output } from "../rules/output";

/** An output to publish. */
export interface Posting {
  readonly workspaceId: string;
  readonly idempotencyKey: string;
  readonly output: Output;
}

/** Returns the event to publish. `messageId` is the id of the message to update, else ignored. */
export function toOutboundEvent(
  { workspaceId, idempotencyKey, output }: Posting,
  messageId: string,
): OutboundEvent {
  return OutboundEvent.create({
    workspaceId,
    idempotencyKey,
    ...lifetimeOf(output),
    content: toContent(output, messageId),
  });
}

function toContent(output: Output, messageId: string): NonNullable<OutboundEvent["content"]> {
  const message = Message.create(output.content);
  switch (output.type) {
    case "message.create":
      return { $case: "messageCreate", value: { channel: output.channel, message } };
    case "message.update":
      return {
        $case: "messageUpdate",
        value: { channel: output.channel, message: { ...message, id: messageId } },
      };
    case "message.ephemeral":
      return { $case: "messageEphemeral", value: { channel: output.channel, user: output.user, message } };
    case "dm.create":
      return { $case: "dmCreate", value: { user: output.user, message } };
  }
}

function lifetimeOf(output: Output): { lifetime?: { seconds: number } } {
  if (output.type !== "dm.create" || output.lifetimeMs === undefined) return {};
  return { lifetime: { seconds: Math.ceil(output.lifetimeMs / 1000) } };
}
