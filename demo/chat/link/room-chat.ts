import type { Chat } from "../../../bridge/catch-up";
import { dmChannel } from "../../../bridge/inbound-event";
import type { Room } from "../room/room";

/**
 * Binds the room as the kit's chat. What is for a channel or a member that this
 * chat does not have is taken and shown to nobody: refusing it would hold up all
 * that comes after it.
 */
export function chatOf(room: Room): Chat {
  return {
    post: async ({ channel, message }) => String(room.show(channel, message)),
    dm: async ({ user, message }) => String(room.show(dmChannel(user), message)),
    edit: async (chatMessageId, { message }) => room.edit(Number(chatMessageId), message),
    ephemeral: async ({ channel, user, message }) => void room.show(channel, message, user),
  };
}
