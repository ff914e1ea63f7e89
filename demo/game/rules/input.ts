import type { Member } from "./game-state";

/** An action of a member, a tick of the clock, or the shutdown of this process. */
export type Input = MemberInput | { readonly type: "tick" } | { readonly type: "closing" };

export type MemberInput = CommandInput | ActionInput | MessageInput;

interface FromMember {
  /** The same on every delivery of the event; seeds all randomness. */
  readonly eventId: string;
  /** A channel's id, or `dm:` and the member's id for a direct conversation. */
  readonly channel: string;
  readonly member: Member;
}

export interface CommandInput extends FromMember {
  readonly type: "command";
  readonly text: string;
}

export interface ActionInput extends FromMember {
  readonly type: "action";
  readonly messageId: string;
  readonly action: string;
}

export interface MessageInput extends FromMember {
  readonly type: "message";
  readonly text: string;
  /** Ref of the message replied to; null if this game did not publish it, undefined if the message is no reply. */
  readonly replyTo: string | null | undefined;
}
