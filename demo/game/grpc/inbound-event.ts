import type { ReceivedEvent } from "../../../proto/gen/chatbridge/v1/event";
import type { MemberInput } from "../rules/input-output";
import { ownAction } from "./own-actions";

/**
 * Converts a delivered event to an input of `play`. Returns undefined for an event of an unknown kind, for an event
 * without a channel or a user, and for a press of another game's button.
 *
 * @param game the name of this game
 * @param refOf returns the `ref` of a message (see `Output`), or undefined for another game's message
 */
export function toInput(
  deliveryId: string,
  { event }: ReceivedEvent,
  game: string,
  refOf: (messageId: string) => string | undefined,
): MemberInput | undefined {
  if (event?.channel === undefined || event.user === undefined) return undefined;
  const { kind, user } = event;
  const from = {
    // An event's id becomes the id of the game that the event opens, and that id is a part of button actions. Colons
    // separate these parts, so the id contains dots instead of colons.
    eventId: deliveryId.replaceAll(":", "."),
    channel: event.channel.id,
    member: { id: user.id, name: user.name ?? user.id },
  };
  switch (kind?.$case) {
    case "command":
      return { type: "command", ...from, text: kind.value.text };
    case "action": {
      const { messageId } = kind.value;
      const action = ownAction(kind.value.action, game);
      return action === undefined ? undefined : { type: "action", ...from, messageId, action };
    }
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
