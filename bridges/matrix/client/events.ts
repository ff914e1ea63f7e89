import { fieldsOf } from "./fields";

/**
 * The parts of the client-server API that the bridge reads. The types do not describe `content`, because clients can
 * send any content. `read-answer.ts` checks all other fields.
 */

/** An event of a room's timeline or state. */
export interface MatrixEvent {
  readonly type: string;
  readonly event_id: string;
  readonly sender: string;
  readonly origin_server_ts?: number;
  readonly state_key?: string;
  readonly content: Readonly<Record<string, unknown>>;
  readonly unsigned?: {
    readonly prev_content?: Readonly<Record<string, unknown>>;
    /**
     * The transaction id of the request that sent the event. The homeserver adds the id only for the device that sent
     * the event.
     */
    readonly transaction_id?: string;
  };
}

/** The type of an event that cannot be decrypted, because the client of the member does not send its key. */
export const KEY_WITHHELD = "key withheld";

export interface JoinedRoom {
  readonly timeline?: {
    readonly events?: readonly MatrixEvent[];
    readonly limited?: boolean;
    readonly prev_batch?: string;
  };
  readonly state?: { readonly events?: readonly MatrixEvent[] };
}

export interface InvitedRoom {
  readonly invite_state?: { readonly events?: readonly MatrixEvent[] };
}

/** The parts of a sync that concern the keys of devices. */
export interface KeyChanges {
  readonly toDevice: readonly unknown[];
  /** Members whose devices changed, and members who no longer share an encrypted room with the bridge. */
  readonly changed: readonly string[];
  readonly left: readonly string[];
  /** The number of the bridge's one-time keys on the homeserver, by algorithm. */
  readonly oneTimeKeys: Readonly<Record<string, number>>;
  /** The algorithms of the fallback keys that are not yet used; undefined if the homeserver does not support them. */
  readonly unusedFallbackKeys: readonly string[] | undefined;
}

export interface SyncAnswer {
  readonly next_batch: string;
  readonly keys?: KeyChanges;
  readonly account_data?: { readonly events?: readonly Pick<MatrixEvent, "type" | "content">[] };
  readonly rooms?: {
    readonly join?: Readonly<Record<string, JoinedRoom>>;
    readonly invite?: Readonly<Record<string, InvitedRoom>>;
    readonly leave?: Readonly<Record<string, JoinedRoom>>;
  };
}

/** The content of the account data `m.direct`: the direct rooms of each member. */
export type DirectRooms = Readonly<Record<string, readonly string[]>>;

/** The relation of an event to another event: a reaction, an edit or a reply. */
export interface Relation {
  readonly type: string | undefined;
  /** Id of the other event. */
  readonly target: string | undefined;
  /** The emoji of a reaction. */
  readonly key: string | undefined;
  /** Id of the event to which the event replies. */
  readonly repliedTo: string | undefined;
  /** Id of the first message of the thread, if the event is in a thread and replies to no other event. */
  readonly threadRoot: string | undefined;
}

/** Returns the relation of an event. A field is undefined if it is missing in the event, or is not a string. */
export function relationOf({ content }: Pick<MatrixEvent, "content">): Relation {
  const relation = fieldsOf(content["m.relates_to"]);
  const [type, target] = [textOf(relation["rel_type"]), textOf(relation["event_id"])];
  const inReplyTo = textOf(fieldsOf(relation["m.in_reply_to"])["event_id"]);
  // Clients without threads use this field to show the event as a reply to the newest message of the thread. An event
  // that has this field only for such clients is not really a reply.
  const isFallback = type === "m.thread" && relation["is_falling_back"] === true;
  const repliedTo = isFallback ? undefined : inReplyTo;
  const threadRoot = type === "m.thread" && repliedTo === undefined ? target : undefined;
  return { type, target, key: textOf(relation["key"]), repliedTo, threadRoot };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
