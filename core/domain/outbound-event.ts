import type { MessageKind } from "../../contract/messages";

/** The events that a game publishes (event reference, "Outbound events"). */

/** A button that sends its action back, or opens its URL. */
export type Button =
  | { readonly label: string; readonly action: string }
  | { readonly label: string; readonly url: string };

/**
 * A message without its id. Core creates the id of a new message. An update contains the id of the message to replace.
 */
export interface MessageBody {
  readonly kind: MessageKind;
  readonly text: string;
  readonly buttons: readonly (readonly Button[])[];
  readonly image: string | null;
  readonly awaitsReply: boolean;
  readonly data: Readonly<Record<string, unknown>> | null;
}

/** The message of an event, and where it is shown. */
export type OutboundContent =
  | { readonly type: "message.create"; readonly channel: string; readonly message: MessageBody }
  | {
      readonly type: "message.update";
      readonly channel: string;
      readonly messageId: string;
      readonly message: MessageBody;
    }
  | {
      readonly type: "message.ephemeral";
      readonly channel: string;
      readonly user: string;
      readonly message: MessageBody;
    }
  | { readonly type: "dm.create"; readonly user: string; readonly message: MessageBody };

/** The stream and the delivery that caused an event, according to the game. `readFence` checks the rules for fences. */
export interface EventFence {
  readonly streamId: string;
  /** The empty string if no delivery caused the event. */
  readonly deliveryId: string;
  readonly attempt: number;
}

/** An event as a game published it. `findOutboundFault` checks the rules for events. */
export interface OutboundEvent {
  readonly workspaceId: string;
  readonly content: OutboundContent;
  /** The key that the game gave; the empty string for no key. */
  readonly idempotencyKey: string;
  /** Lifetime in ms; undefined for the default lifetime of the event's type and kind. */
  readonly lifetimeMs: number | undefined;
  /** Undefined if the store need not check what caused the event. */
  readonly fence?: EventFence | undefined;
}
