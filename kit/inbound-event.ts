import { DM_PREFIX } from "../contract/forms";

/**
 * The events that a bridge reports to the service (event reference, "Inbound events"). The service rejects events with
 * fields that are not listed here.
 */

/** A channel: its id (1 to 128 characters), or its id and the name that members see. For a DM, use `dmChannel`. */
export type Channel = string | { readonly id: string; readonly name?: string | null };

/** A member. */
export interface User {
  /** Opaque, stable id of 1 to 128 characters. The service uses this id for scores and DMs. */
  readonly id: string;
  /** Name shown in results and leaderboards, at most 128 characters. Send the name whenever it is known. */
  readonly name?: string | null;
}

interface InboundHead {
  /**
   * The request id, 1 to 128 characters, unique per request. If this field is omitted,
   * the kit generates an id. If the chat can deliver an event to the bridge twice, pass the chat's event id here.
   */
  readonly id?: string;
  readonly user: User;
}

/** A member ran the command. */
export interface CommandEvent extends InboundHead {
  readonly type: "command";
  /** Channel of the command, never a DM. */
  readonly channel: Channel;
  /** Text after the command, at most 2000 characters; an empty text asks for help. */
  readonly text: string;
}

/** A member pressed a button. */
export interface ActionEvent extends InboundHead {
  readonly type: "action";
  /** Channel of the message with the button; in a DM, `dmChannel(user.id)`. */
  readonly channel: Channel;
  /** `message.id` of the message that contained the button. */
  readonly messageId: string;
  /** The button's `action`, unchanged. */
  readonly action: string;
}

/** A member typed a message. The service answers with `202` even if no game in progress expects the message. */
export interface TypedMessageEvent extends InboundHead {
  readonly type: "message";
  /** Channel of the message; in a DM, `dmChannel(user.id)`. */
  readonly channel: Channel;
  /** 1 to 4000 characters. */
  readonly text: string;
  /** `message.id` of the message that the member replied to. */
  readonly replyTo?: string | null;
}

export type InboundEvent = CommandEvent | ActionEvent | TypedMessageEvent;

/** Returns the channel id of the direct conversation with a member. */
export function dmChannel(userId: string): string {
  return DM_PREFIX + userId;
}
