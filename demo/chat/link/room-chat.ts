import type { Chat } from "../../../bridge/catch-up";
import { dmChannel } from "../../../bridge/inbound-event";
import type { Room } from "../room/room";

/**
 * Binds the room as the kit's chat. A message for an unknown channel or member
 * is accepted and shown to nobody, because a rejection would block all events
 * behind it.
 */
export function chatOf(room: Room): Chat {
  return {
    post: async ({ channel, message }) => String(room.show(channel, message)),
    dm: async ({ user, message }) => String(room.show(dmChannel(user), message)),
    edit: async (chatMessageId, { message }) => room.edit(Number(chatMessageId), message),
    ephemeral: async ({ channel, user, message }) => void room.show(channel, message, user),
  };
}
