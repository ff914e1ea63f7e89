import type { OutboundEvent } from "../../bridge/events";
import type { BridgeEffect } from "../../bridge/reduce-effect";

/** An effect that calls the chat. */
export type ChatCall = Exclude<BridgeEffect, { type: "skip" | "missed" }>;

/** What people see: each message where it is, as it reads. */
export type Shown = ReadonlyMap<string, { readonly place: string; readonly text: string }>;

/** A chat tool that knows nothing of the contract: it posts and edits what it is told to. */
export function createChat() {
  const posts: { place: string; messageId: string; sequences: number[]; text: string }[] = [];
  const whispers: number[] = [];
  return {
    posts,
    /** Sequences of the ephemerals that were shown. */
    whispers,
    /** Does what it was called for, and answers its own id of the message. */
    take(call: ChatCall): string {
      const { sequence, message } = call.event;
      if (call.type === "ephemeral") {
        whispers.push(sequence);
        return "";
      }
      if (call.type === "edit") {
        const post = posts[Number(call.chatMessageId)];
        if (post?.messageId !== message.id) throw new Error("an edit of a message that is another or none");
        post.sequences.push(sequence);
        post.text = message.text;
        return call.chatMessageId;
      }
      posts.push({
        place: placeOf(call.event),
        messageId: message.id,
        sequences: [sequence],
        text: message.text,
      });
      return String(posts.length - 1);
    },
    shown(): Shown {
      return new Map(posts.map(({ messageId, place, text }) => [messageId, { place, text }]));
    },
  };
}

/** What people would see had the events come one by one, in order, to a chat that takes everything. */
export function shownInOrder(events: readonly OutboundEvent[]): Shown {
  const shown = new Map<string, { place: string; text: string }>();
  for (const event of events.toSorted((a, b) => a.sequence - b.sequence)) {
    if (event.type === "ping" || event.type === "message.ephemeral") continue;
    const { id, text } = event.message;
    if (event.type !== "message.update" || shown.has(id)) shown.set(id, { place: placeOf(event), text });
  }
  return shown;
}

export function placeOf(event: Exclude<OutboundEvent, { type: "ping" }>): string {
  return event.type === "dm.create" ? `dm:${event.user}` : event.channel;
}
