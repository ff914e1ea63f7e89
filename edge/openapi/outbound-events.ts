import { PHASE_KINDS, type OutboundType } from "../../contract/messages";
import {
  LIVE_LIFETIME_MS,
  RETRY_OFFSETS_MS,
  SHORT_LIFETIME_MS,
  UPDATE_HOLD_MS,
} from "../../contract/numbers";
import { refTo, text, type Schema } from "./shape";

export interface OutboundEvent {
  readonly type: OutboundType;
  /** Name of the schema. */
  readonly name: string;
  readonly summary: string;
  /** A sentence that says when the service sends the event. */
  readonly sent: string;
  /** Instructions for bridges that receive the event. */
  readonly handling: string;
  /** Whether the service retries a failed push of the event. */
  readonly retries: string;
  /** When the event expires. */
  readonly expiry: string;
  /** The fields of this event, in addition to the fields that every event has. */
  readonly fields: Readonly<Record<string, Schema>>;
}

const CHANNEL = "A channel id that the bridge sent earlier.";
const channel = text(CHANNEL, { minLength: 1 });
const channelOfUpdate = text(
  `${CHANNEL} For an update of a \`dm.create\`: \`dm:\` followed by the user's id.`,
  {
    minLength: 1,
  },
);
const user = text("A member's `user.id` as the bridge sent it.", { minLength: 1 });
const message = refTo("Message");

const RETRY_TIMES = RETRY_OFFSETS_MS.map((ms) => `${ms / 1_000} s`).join(" and ");
const RETRIED = `A failed push is retried ${RETRY_TIMES} after the first failure with the same \`id\`, and then no more.`;
const SHORT = `The event expires ${SHORT_LIFETIME_MS / 1_000} seconds after \`createdAt\`.`;
const OTHER_TIME = "A game can set another time.";
const BY_KIND =
  `The event expires ${LIVE_LIFETIME_MS / 60_000} minutes after \`createdAt\`, or never if the kind of the message stays useful for hours. ` +
  OTHER_TIME;

/** The contract's outbound events, and how a bridge handles each of them. */
export const OUTBOUND_EVENTS: readonly OutboundEvent[] = [
  {
    type: "message.create",
    name: "MessageCreate",
    summary: "Post a message in a channel",
    sent: "This event is sent when a game posts a message in a channel.",
    handling:
      "Post `message` in `channel`, and keep a map from `message.id` to the chat's own message id. If the chat rejects " +
      "the message, retry until the chat accepts it or the event expires.",
    retries: RETRIED,
    expiry: BY_KIND,
    fields: { channel, message },
  },
  {
    type: "message.update",
    name: "MessageUpdate",
    summary: "Replace a message",
    sent:
      "This event is sent when a game changes a message. A live game keeps one message: each question arrives as an " +
      "update of the card that opened the game.",
    handling:
      "Replace the text, buttons and image of the message that `message.id` is mapped to. Skip an update whose " +
      "`sequence` is lower than that of the last update applied. If `message.id` has no mapping, the update may have " +
      `overtaken its create: hold the update for up to ${UPDATE_HOLD_MS / 1_000} seconds, then drop it. An update that the chat rejects may ` +
      "be dropped.",
    retries:
      `If the update starts a phase of a game, a failed push is retried ${RETRY_TIMES} after the first failure. These updates ` +
      `have one of the kinds ${PHASE_KINDS.map((kind) => `\`${kind}\``).join(", ")}. Other updates are not retried, because the ` +
      "next update supersedes them.",
    expiry: BY_KIND,
    fields: { channel: channelOfUpdate, message },
  },
  {
    type: "message.ephemeral",
    name: "MessageEphemeral",
    summary: "Show a message to one member only",
    sent: "This event is sent when a game answers one member, for example after a press of a button.",
    handling:
      "Show `message` only to `user` in `channel` if the chat can; otherwise send it as a direct message, or post it in " +
      "`channel`. The message is never updated. If the chat rejects the message, the event may be dropped.",
    retries: RETRIED,
    expiry: `${SHORT} ${OTHER_TIME}`,
    fields: { channel, user, message },
  },
  {
    type: "dm.create",
    name: "DmCreate",
    summary: "Send a message to a member directly",
    sent: "This event is sent when a game writes to one member directly.",
    handling:
      "Open or reuse a direct conversation with `user`, post `message`, and map `message.id` as for `message.create`. " +
      "Report presses and typed messages from this conversation with `channel` = `dm:<user>`.",
    retries: RETRIED,
    expiry: BY_KIND,
    fields: { user, message },
  },
  {
    type: "ping",
    name: "Ping",
    summary: "Confirm that the bridge is reachable",
    sent: "This event is sent when an operator sends a test event.",
    handling:
      "Answer `2xx`, or fetch the ping by a poll. Show nothing in the chat. The dashboard shows the status code and the latency.",
    retries: "A ping is never retried.",
    expiry: SHORT,
    fields: {},
  },
];
