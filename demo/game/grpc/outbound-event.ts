import { Message } from "../../../proto/gen/chatbridge/v1/event";
import { OutboundEvent } from "../../../proto/gen/chatbridge/v1/game";
import type { Output } from "../rules/input-output";
import { withOwnActions } from "./own-actions";

/** An output to publish. */
export interface Posting {
  readonly workspaceId: string;
  readonly idempotencyKey: string;
  readonly output: Output;
  /** The name of the game: the first part of each button's `action`. */
  readonly game: string;
}

/**
 * Returns the event to publish. `messageId` is the id of the message to update, or of the message that a notice belongs
 * to; empty if there is none.
 */
export function toOutboundEvent(
  { workspaceId, idempotencyKey, output, game }: Posting,
  messageId: string,
): OutboundEvent {
  const seconds = output.type === "dm.create" ? output.lifetimeSeconds : undefined;
  return OutboundEvent.create({
    workspaceId,
    idempotencyKey,
    ...(seconds === undefined ? {} : { lifetime: { seconds } }),
    content: toContent(output, messageId, game),
  });
}

function toContent(output: Output, id: string, game: string): NonNullable<OutboundEvent["content"]> {
  const message = withOwnActions(Message.create(output.content), game);
  switch (output.type) {
    case "message.create":
      return { $case: "messageCreate", value: { channel: output.channel, message } };
    case "message.update":
      return { $case: "messageUpdate", value: { channel: output.channel, message: { ...message, id } } };
    case "message.ephemeral":
      if (id !== "") message.data = { about: id, ...message.data };
      return { $case: "messageEphemeral", value: { channel: output.channel, user: output.user, message } };
    case "dm.create":
      return { $case: "dmCreate", value: { user: output.user, message } };
  }
}
