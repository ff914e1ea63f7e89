import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import type { OutboundEvent, PublishedEvent, PublishResult } from "../../proto/gen/chatbridge/v1/game";
import { poll } from "./bridge";
import type { TestWorkspace } from "./service";

/** Events and their parts, as the generated `create` functions accept them: every field is optional. */

export type EventInit = NonNullable<Parameters<typeof OutboundEvent.create>[0]>;
export type ContentInit = NonNullable<EventInit["content"]>;
export type MessageInit = NonNullable<
  NonNullable<Extract<ContentInit, { $case: "messageCreate" }>["value"]>["message"]
>;

/** The id of a message that was never sent. */
export const MESSAGE_ID = "msg_01J0ABCDEFGHJKMNPQRSTVWXYZ";
export const CARD: MessageInit = { kind: MessageKind.CARD, text: "hi" };

export const create = (channel: string, message = CARD): ContentInit => ({
  $case: "messageCreate",
  value: { channel, message },
});
export const update = (channel: string, message: MessageInit = { ...CARD, id: MESSAGE_ID }): ContentInit => ({
  $case: "messageUpdate",
  value: { channel, message },
});
export const ephemeral = (channel: string, user: string, message: MessageInit = CARD): ContentInit => ({
  $case: "messageEphemeral",
  value: { channel, user, message },
});
export const dm = (user: string, message: MessageInit = CARD): ContentInit => ({
  $case: "dmCreate",
  value: { user, message },
});

/** Returns the published event of a result. Throws when the event was rejected. */
export function published(result: PublishResult | undefined): PublishedEvent {
  if (result?.outcome?.$case !== "published") throw new Error(`not published: ${JSON.stringify(result)}`);
  return result.outcome.value;
}

/** Polls the edge at `url` as the bridge of a workspace. Returns the events of the first page. */
export async function heldFor(url: string, workspace: TestWorkspace) {
  return ((await poll(url, workspace)).json as { events: Record<string, unknown>[] }).events;
}
