/**
 * The id under which the kit knows a message of the chat: the room and the event. A direct conversation can move to
 * another room, but an edit must be in the room of the message. The id therefore includes the room.
 */
export function toChatId(roomId: string, eventId: string): string {
  return `${roomId} ${eventId}`;
}

/** Returns the room and the event of an id that `toChatId` returned. */
export function readChatId(chatId: string): { readonly roomId: string; readonly eventId: string } {
  const [roomId = "", eventId = ""] = chatId.split(" ");
  return { roomId, eventId };
}
