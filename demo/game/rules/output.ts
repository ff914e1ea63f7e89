import type { Message } from "../../../proto/gen/chatbridge/v1/event";

/** A message to publish, without an id; `Message.create` fills in missing fields. */
export type MessageContent = NonNullable<Parameters<typeof Message.create>[0]>;

/**
 * A message to replace, by the ref that the rules gave it when they created it,
 * or by the id from an inbound event.
 */
export type Target = { readonly ref: string } | { readonly messageId: string };

/** An output of the rules. The types are the contract's. */
export type Output =
  | {
      readonly type: "message.create";
      readonly channel: string;
      /** Name by which later outputs and inputs refer to the message, because its id is not known yet. */
      readonly ref?: string;
      readonly content: MessageContent;
    }
  | {
      readonly type: "message.update";
      /** The original message's channel, or `dm:` and a user's id. */
      readonly channel: string;
      readonly target: Target;
      readonly content: MessageContent;
    }
  | {
      readonly type: "message.ephemeral";
      readonly channel: string;
      readonly user: string;
      readonly content: MessageContent;
    }
  | {
      readonly type: "dm.create";
      readonly user: string;
      readonly ref?: string;
      readonly content: MessageContent;
      /** Milliseconds until the message expires; the default of its kind if unset. */
      readonly lifetimeMs?: number;
    };

/** Returns a message to one member: ephemeral in a channel, an ordinary message in a direct conversation. */
export function tellMember(channel: string, user: string, content: MessageContent): Output {
  return channel.startsWith("dm:")
    ? { type: "dm.create", user, content }
    : { type: "message.ephemeral", channel, user, content };
}
