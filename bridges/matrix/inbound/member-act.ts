import type { Message } from "chat-bridge-kit";
import type { BridgeSettings } from "chat-bridge-runner";

/** The meaning of a member's event. `target` and `replyTo` are Matrix event ids, not message ids of the service. */
export type MemberAct =
  | { readonly type: "command"; readonly text: string }
  | { readonly type: "message"; readonly text: string; readonly replyTo?: string }
  /** `byReaction` is true if the member pressed the button with a reaction, which the bridge removes. */
  | {
      readonly type: "action";
      readonly target: string;
      readonly action: string;
      readonly byReaction: boolean;
    }
  /**
   * The bridge replies with an explanation, and reports nothing to the service. A hint with a `topic` is shown only
   * once for each topic, member and room.
   */
  | { readonly type: "hint"; readonly text: string; readonly topic?: string };

/** A message of the bridge, as it was when the member's event entered the timeline. */
export interface ShownEvent {
  readonly eventId: string;
  readonly message: Message;
}

/** The room of an event, and the messages of the bridge in the room. */
export interface RoomView {
  /** The other member of a direct room; undefined for other rooms. */
  readonly directMember: string | undefined;
  /** Returns a message of the bridge; undefined for other events. */
  shown(eventId: string): ShownEvent | undefined;
  /**
   * Returns the newest event of the message to which an event belongs, because each question of a game can be another
   * event. Undefined for other events.
   */
  newestOf(eventId: string): ShownEvent | undefined;
  /** Returns the messages of the bridge, the most recently changed first. */
  newest(): readonly ShownEvent[];
}

export interface Typing extends Pick<BridgeSettings, "COMMAND_PREFIX" | "COMMAND_WORD"> {
  /** The bridge's clock, ms since the epoch. */
  readonly nowMs: number;
}
