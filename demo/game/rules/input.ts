import type { Member } from "./game-state";

/** Something that a member did, or the clock, or the end of this process. */
export type Input = MemberInput | { readonly type: "tick" } | { readonly type: "closing" };

export type MemberInput = CommandInput | ActionInput | MessageInput;

interface FromMember {
  /** The same however often the event comes; what the rules leave to chance hangs on it. */
  readonly eventId: string;
  /** A channel, or `dm:` and the member's id where it may be a direct conversation. */
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
  /** The ref of the message replied to, null when it is none of ours; undefined when it was no reply. */
  readonly replyTo: string | null | undefined;
}
