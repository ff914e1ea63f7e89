/** What a bridge reports to the service ("Inbound event"). The service refuses fields that are not listed here. */

/** A channel by its id, 1 to 128 characters, or with the name that people know it by. */
export type Channel = string | { readonly id: string; readonly name?: string | null };

/** A member. */
export interface User {
  /** Opaque and stable, 1 to 128 characters: scores and DMs follow it. */
  readonly id: string;
  /** Shown in results and leaderboards, at most 128 characters: send it whenever it is known. */
  readonly name?: string | null;
}

interface InboundHead {
  /**
   * The request id, 1 to 128 characters, unique per request. The sender mints
   * one where there is none; give the chat's own event id where it may deliver
   * an event to the bridge twice.
   */
  readonly id?: string;
  readonly user: User;
}

/** A member ran the command. */
export interface CommandEvent extends InboundHead {
  readonly type: "command";
  /** Never a DM. */
  readonly channel: Channel;
  /** What followed the command, at most 2000 characters; empty asks for help. */
  readonly text: string;
}

/** A member pressed a button. */
export interface ActionEvent extends InboundHead {
  readonly type: "action";
  /** Where it was pressed; in a DM `dmChannel(user.id)`. */
  readonly channel: Channel;
  /** `message.id` of the message that the button was on. */
  readonly messageId: string;
  /** The button's `action`, untouched. */
  readonly action: string;
}

/** A member typed a message. One that answers nothing in play is accepted and dropped. */
export interface TypedMessageEvent extends InboundHead {
  readonly type: "message";
  /** Where it was typed; in a DM `dmChannel(user.id)`. */
  readonly channel: Channel;
  /** 1 to 4000 characters. */
  readonly text: string;
  /** `message.id` of the message replied to. */
  readonly replyTo?: string | null;
}

export type InboundEvent = CommandEvent | ActionEvent | TypedMessageEvent;

/** The channel id of the direct conversation with a member, by `user.id`. */
export function dmChannel(userId: string): string {
  return `dm:${userId}`;
}
