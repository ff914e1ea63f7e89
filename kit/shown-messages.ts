import type { Message } from "./events";

/** A message that the chat shows. */
export interface ShownMessage {
  /** `message.id` of the service. */
  readonly messageId: string;
  /** Channel of the message; `dm:<user id>` for a direct message. */
  readonly channel: string;
  /** The only member who sees the message; null if all members of the channel see the message. */
  readonly user: string | null;
  /** The message as it was last posted or updated. `data` is always null. */
  readonly message: Message;
  /** Ids of the chat's messages that show this message, oldest first. */
  readonly chatMessageIds: readonly string[];
  /** `id` of the last applied event. */
  readonly eventId: string;
  /** `sequence` of the last applied event. */
  readonly sequence: number;
}

/** A bounded map of messages. A write removes the least recently written messages if there are too many. */
export interface ShownMessages {
  put(shown: ShownMessage): void;
  byMessageId(messageId: string): ShownMessage | undefined;
  byChatMessageId(chatMessageId: string): ShownMessage | undefined;
  /** Returns the messages of a channel, the most recently written first. */
  inChannel(channel: string): readonly ShownMessage[];
  /** Returns all messages, the least recently written first. */
  all(): readonly ShownMessage[];
}

export interface ShownLimits {
  readonly messages: number;
  /** Maximum total length of the messages as JSON, in UTF-16 code units. */
  readonly characters: number;
}

/** `messages` equals the limit in `BRIDGE_LIMITS`: updates of messages beyond that limit are skipped anyway. */
export const SHOWN_LIMITS: ShownLimits = { messages: 10_000, characters: 16 * 1024 * 1024 };

export function createShownMessages(limits: ShownLimits = SHOWN_LIMITS): ShownMessages {
  /** Messages by their id, in the order of the last write. */
  const messages = new Map<string, { readonly shown: ShownMessage; readonly length: number }>();
  const messageIdOf = new Map<string, string>();
  let characters = 0;

  function remove(messageId: string): void {
    const kept = messages.get(messageId);
    if (kept === undefined) return;
    messages.delete(messageId);
    characters -= kept.length;
    // The chat can reuse an id: if the id now belongs to a newer message, that message's entry is kept.
    for (const id of kept.shown.chatMessageIds) if (messageIdOf.get(id) === messageId) messageIdOf.delete(id);
  }

  const all = () => [...messages.values()].map(({ shown }) => shown);
  return {
    put(shown) {
      remove(shown.messageId);
      const { length } = JSON.stringify(shown);
      messages.set(shown.messageId, { shown, length });
      characters += length;
      for (const id of shown.chatMessageIds) messageIdOf.set(id, shown.messageId);
      for (const oldest of messages.keys()) {
        if (messages.size <= limits.messages && characters <= limits.characters) break;
        remove(oldest);
      }
    },
    byMessageId: (messageId) => messages.get(messageId)?.shown,
    byChatMessageId: (chatMessageId) => messages.get(messageIdOf.get(chatMessageId) ?? "")?.shown,
    inChannel: (channel) =>
      all()
        .filter((shown) => shown.channel === channel)
        .toReversed(),
    all,
  };
}
