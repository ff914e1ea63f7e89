/** An event as the homeserver returns it. */
export interface RawEvent {
  readonly event_id: string;
  readonly type: string;
  readonly sender: string;
  readonly state_key?: string;
  readonly content: Readonly<Record<string, unknown>>;
}

/** A message as clients show it. */
export interface RoomMessage {
  readonly eventId: string;
  readonly sender: string;
  readonly msgtype: string;
  readonly body: string;
  readonly html: string;
  readonly url: string | undefined;
  readonly edits: number;
  /** Reactions: key and sender. */
  readonly reactions: readonly { readonly key: string; readonly sender: string }[];
}

interface Relation {
  readonly rel_type?: string;
  readonly event_id?: string;
  readonly key?: string;
}

/** Returns the messages of a room, oldest first. Applies edits, and leaves out redacted messages and reactions. */
export function foldRoom(events: readonly RawEvent[]): readonly RoomMessage[] {
  const messages = new Map<string, RoomMessage>();
  for (const { event_id: eventId, type, sender, content } of events) {
    const relation = (content["m.relates_to"] ?? {}) as Relation;
    const target = messages.get(relation.event_id ?? "");
    if (type === "m.reaction" && target !== undefined) {
      const reactions = [...target.reactions, { key: relation.key ?? "", sender }];
      messages.set(target.eventId, { ...target, reactions });
    }
    if (type !== "m.room.message" || content["body"] === undefined) continue;
    if (relation.rel_type !== "m.replace") {
      messages.set(eventId, { eventId, sender, edits: 0, reactions: [], ...shown(content) });
    } else if (target?.sender === sender) {
      const newer = shown(content["m.new_content"] as RawEvent["content"]);
      messages.set(target.eventId, { ...target, ...newer, edits: target.edits + 1 });
    }
  }
  return [...messages.values()];
}

function shown(content: RawEvent["content"]): Pick<RoomMessage, "msgtype" | "body" | "html" | "url"> {
  const text = (name: string) => (typeof content[name] === "string" ? content[name] : "");
  return {
    msgtype: text("msgtype"),
    body: text("body"),
    html: text("formatted_body"),
    url: text("url") || undefined,
  };
}
