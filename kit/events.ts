import { MESSAGE_KINDS, type MessageKind as ContractKind } from "../contract/messages";

/**
 * The events that a bridge gets from the service, by push or by poll (event reference, "Outbound events"). The service
 * may add fields, kinds and types at any time: the kit passes new fields and kinds through unchanged, and skips events
 * of an unknown type. A bridge must show an unknown kind as a `card`.
 */

export { MESSAGE_KINDS };
/** A kind of message that the contract names. */
export type KnownMessageKind = ContractKind;

/** Any kind of message. Editors suggest the known kinds, but the type also allows unknown kinds. */
export type MessageKind = KnownMessageKind | (string & {});

/** When a member presses the button, the bridge sends an `action` event with the same `action`, without parsing it. */
export interface ActionButton {
  readonly label: string;
  /** At most 512 characters. */
  readonly action: string;
}

/** A button that opens a URL. The bridge sends no event when a member presses this button. */
export interface LinkButton {
  readonly label: string;
  readonly url: string;
}

export type Button = ActionButton | LinkButton;

/** A message to show. */
export interface Message {
  /** `msg_` and 26 characters. A bridge must keep a map from this id to the chat's message id. */
  readonly id: string;
  readonly kind: MessageKind;
  /** Chat-flavoured Markdown; a bare newline is a line break. */
  readonly text: string;
  /** Rows from top to bottom, with the buttons of a row from left to right; may be empty. */
  readonly buttons: readonly (readonly Button[])[];
  /** URI of an image; null for none. The image may be animated. */
  readonly image: string | null;
  /**
   * Whether the next message that a member types is an answer to this message. If the chat supports replies, send the
   * answer with `replyTo`.
   */
  readonly awaitsReply: boolean;
  /** View model for bridges that draw the message themselves; null for none. The shape of `data` is not stable. */
  readonly data: Readonly<Record<string, unknown>> | null;
}

/** The fields of every event. */
export interface EventHead {
  /** `evt_` and 26 characters, unchanged on every retry: dedupe on `id`. */
  readonly id: string;
  readonly type: string;
  /** UUID of the workspace. */
  readonly workspace: string;
  /** Number below 2^53 that increases with each event of the workspace, with gaps. */
  readonly sequence: number;
  /** Time of creation, ISO 8601, UTC. */
  readonly createdAt: string;
  /** Time at which the event expires, ISO 8601, UTC; null for never. */
  readonly expiresAt: string | null;
}

/** A request to post `message` in `channel`. */
export interface MessageCreate extends EventHead {
  readonly type: "message.create";
  readonly channel: string;
  readonly message: Message;
}

/** A request to replace the message that was created with the same `message.id`. */
export interface MessageUpdate extends EventHead {
  readonly type: "message.update";
  /** Channel of the `message.create`; `dm:<user id>` if the message was created by `dm.create`. */
  readonly channel: string;
  readonly message: Message;
}

/** A request to show `message` in `channel`, only to `user`. */
export interface MessageEphemeral extends EventHead {
  readonly type: "message.ephemeral";
  readonly channel: string;
  readonly user: string;
  readonly message: Message;
}

/** A request to post `message` in a direct conversation with `user`. */
export interface DmCreate extends EventHead {
  readonly type: "dm.create";
  readonly user: string;
  readonly message: Message;
}

/** A test of whether the bridge is reachable, sent from the dashboard. The bridge shows nothing in the chat. */
export interface Ping extends EventHead {
  readonly type: "ping";
}

export type OutboundEvent = MessageCreate | MessageUpdate | MessageEphemeral | DmCreate | Ping;

/** The answer to a poll (event reference, "Page of events"). */
export interface EventPage {
  /** At most 100 events, oldest first. */
  readonly events: readonly OutboundEvent[];
  /** Opaque cursor to pass as `after` in the next poll; null only when there is no cursor yet. */
  readonly next: string | null;
  /** Whether more events are held after the last event of this page. */
  readonly hasMore: boolean;
  /** Whether events after the sent cursor expired before they were fetched. */
  readonly gap: boolean;
}

/**
 * Returns whether an event is past its `expiresAt`. A bridge must drop an expired event without showing it.
 *
 * @param nowMs the bridge's clock, ms since the epoch
 */
export function isExpired(event: Pick<EventHead, "expiresAt">, nowMs: number): boolean {
  return event.expiresAt !== null && Date.parse(event.expiresAt) < nowMs;
}
