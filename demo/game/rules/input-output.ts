import { DM_PREFIX } from "../../../contract/forms";
import type { Message } from "../../../proto/gen/chatbridge/v1/event";
import type { Member } from "./game-state";

interface FromMember {
  /** Id of the event; the same in every delivery of the event. The id seeds all random choices. */
  readonly eventId: string;
  /** Id of a channel; in a direct conversation, `dm:` followed by the member's id. */
  readonly channel: string;
  readonly member: Member;
}

export type CommandInput = FromMember & { readonly type: "command"; readonly text: string };

export type ActionInput = FromMember & {
  readonly type: "action";
  readonly messageId: string;
  readonly action: string;
};

export type MessageInput = FromMember & {
  readonly type: "message";
  readonly text: string;
  /**
   * The `ref` (see `Output`) of the message that this reply answers. Null if the message that it answers is another
   * game's; undefined if the message is not a reply.
   */
  readonly replyTo: string | null | undefined;
};

export type MemberInput = CommandInput | ActionInput | MessageInput;

/** An event from a member, a tick of the clock, or the shutdown of this process. */
export type Input = MemberInput | { readonly type: "tick" } | { readonly type: "closing" };

/** A message to publish, without an id; `Message.create` fills in missing fields. */
export type MessageContent = NonNullable<Parameters<typeof Message.create>[0]>;

/** A message that the game published before: its `ref`, or its id from an inbound event. */
export type Target = { readonly ref: string } | { readonly messageId: string };

interface InChannel {
  /** Id of a channel. In an update, `channel` can also be `dm:` followed by a user's id. */
  readonly channel: string;
  readonly content: MessageContent;
}

/**
 * An output of `play`. `type` is an event type of the contract. A `ref` names a
 * message in later outputs and inputs, because core chooses the message's id later.
 */
export type Output =
  | (InChannel & { readonly type: "message.create"; readonly ref?: string })
  | (InChannel & {
      readonly type: "message.update";
      /** The message to replace. */
      readonly target: Target;
    })
  | (InChannel & {
      readonly type: "message.ephemeral";
      readonly user: string;
      /** The message that this notice belongs to. The publisher puts the message's id into the notice's data. */
      readonly about?: Target;
    })
  | {
      readonly type: "dm.create";
      readonly user: string;
      readonly ref?: string;
      readonly content: MessageContent;
      /** Seconds until the message expires; unset for the default of the message's kind. */
      readonly lifetimeSeconds?: number;
    };

/** The time of an input, in ms since the epoch, and the outputs so far. */
export interface Turn {
  readonly nowMs: number;
  readonly outputs: Output[];
}

/**
 * Sends a message to one member: an ephemeral in a channel, or an ordinary message in a direct conversation. `about` is
 * the message that an ephemeral belongs to.
 */
export function tellMember(
  turn: Turn,
  channel: string,
  user: string,
  content: MessageContent,
  about?: Target,
): void {
  turn.outputs.push(
    channel.startsWith(DM_PREFIX)
      ? { type: "dm.create", user, content }
      : { type: "message.ephemeral", channel, user, content, ...(about && { about }) },
  );
}
