import type { Message } from "../../../proto/gen/chatbridge/v1/event";

/** A message as it is published, without an id: `Message.create` fills in the rest. */
export type MessageContent = NonNullable<Parameters<typeof Message.create>[0]>;

/**
 * A message to replace: one that the rules named when they created it, or one
 * whose id an inbound event told of.
 */
export type Target = { readonly ref: string } | { readonly messageId: string };

/** What the rules want shown. The types are the contract's. */
export type Output =
  | {
      readonly type: "message.create";
      readonly channel: string;
      /** A name by which later outputs and inputs speak of the message: its id is not known yet. */
      readonly ref?: string;
      readonly content: MessageContent;
    }
  | {
      readonly type: "message.update";
      /** Of the original: a channel, or `dm:` and a user's id. */
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
      /** How long it is worth showing; the default of its kind unless set. */
      readonly lifetimeMs?: number;
    };

/** Tells one member something where they are: alone in a channel; in a direct conversation nobody else is there. */
export function tellMember(channel: string, user: string, content: MessageContent): Output {
  return channel.startsWith("dm:")
    ? { type: "dm.create", user, content }
    : { type: "message.ephemeral", channel, user, content };
}
