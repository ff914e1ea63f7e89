import type { ReceivedEvent } from "../../../proto/gen/chatbridge/v1/event";
import type { MemberInput } from "../rules/input";

/**
 * What the rules are told of a delivered event. `refOf` names the message of an
 * id, where it is one of ours. Undefined for a kind of event that is new to us.
 */
export function toInput(
  deliveryId: string,
  { event }: ReceivedEvent,
  refOf: (messageId: string) => string | undefined,
): MemberInput | undefined {
  if (event?.channel === undefined || event.user === undefined) return undefined;
  const { kind, user } = event;
  const from = {
    // Colons divide the texts of our buttons.
    eventId: deliveryId.replaceAll(":", "."),
    channel: event.channel.id,
    member: { id: user.id, name: user.name ?? user.id },
  };
  switch (kind?.$case) {
    case "command":
      return { type: "command", ...from, text: kind.value.text };
    case "action":
      return { type: "action", ...from, messageId: kind.value.messageId, action: kind.value.action };
    case "message": {
      const { text, replyTo } = kind.value;
      return {
        type: "message",
        ...from,
        text,
        replyTo: replyTo === undefined ? undefined : (refOf(replyTo) ?? null),
      };
    }
    case undefined:
      return undefined;
  }
}
