import type { InboundType, OutboundType } from "../../contract/messages";
import type { InboundEventBody } from "../public/inbound-event-schema";

/**
 * One example of each event, from one game in one workspace. The OpenAPI document, the event reference and the bridge
 * guide show these examples.
 */

export const EXAMPLE_WORKSPACE = "0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11";

const GAME = "10.1767605400114-0";
const CARD_ID = "msg_01KE6QVWHRJFND9MPX98EZMXNQ";
const PROMPT_ID = "msg_01KE6QXQ2A3Q8KH9S51W05349F";
const ADA = { id: "u1", name: "Ada" };
const GRACE = { id: "u2", name: "Grace" };

export const INBOUND_EXAMPLES = {
  command: {
    type: "command",
    id: "9f1c52f4-7d0e-4c53-8a5e-6d0a3c2b1e01",
    channel: { id: "general", name: "General" },
    user: ADA,
    text: "start",
  },
  action: {
    type: "action",
    id: "9f1c52f4-7d0e-4c53-8a5e-6d0a3c2b1e02",
    channel: "general",
    user: GRACE,
    messageId: CARD_ID,
    action: `join:${GAME}`,
  },
  message: {
    type: "message",
    id: "9f1c52f4-7d0e-4c53-8a5e-6d0a3c2b1e03",
    channel: `dm:${ADA.id}`,
    user: ADA,
    text: "The history of bridges",
    replyTo: PROMPT_ID,
  },
} as const satisfies { readonly [Type in InboundType]: InboundEventBody & { readonly type: Type } };

const head = <Type extends OutboundType>(
  type: Type,
  id: string,
  sequence: number,
  createdAt: string,
  expiresAt: string | null,
) => ({ id, type, workspace: EXAMPLE_WORKSPACE, sequence, createdAt, expiresAt });

export const OUTBOUND_EXAMPLES = {
  "message.create": {
    ...head(
      "message.create",
      "evt_01KE6QVWHRB63AADJTKV8BTZXP",
      1_767_605_400_120_113,
      "2026-01-05T09:30:00.120Z",
      "2026-01-05T09:40:00.120Z",
    ),
    channel: "general",
    message: {
      id: CARD_ID,
      kind: "game_start",
      text: "**Trivia!** Ada opens a game.\n\n_Joined so far:_ **Ada**",
      buttons: [
        [
          { label: "Join", action: `join:${GAME}` },
          { label: "Start", action: `begin:${GAME}` },
        ],
        [{ label: "What is trivia?", url: "https://en.wikipedia.org/wiki/Trivia" }],
      ],
      image: null,
      awaitsReply: false,
      data: { phase: "lobby", players: 1 },
    },
  },
  "message.update": {
    ...head(
      "message.update",
      "evt_01KE6QWT743GR6H13HZYJ5G5M8",
      1_767_605_430_500_042,
      "2026-01-05T09:30:30.500Z",
      "2026-01-05T09:40:30.500Z",
    ),
    channel: "general",
    message: {
      id: CARD_ID,
      kind: "question",
      text: "**Question 1 of 5** · 20 seconds\n\n> Which city is this?",
      buttons: [
        [
          { label: "Ottawa", action: `answer:0:0:${GAME}` },
          { label: "Montreal", action: `answer:0:1:${GAME}` },
        ],
      ],
      image: "https://pictures.example/ottawa.png",
      awaitsReply: false,
      data: { phase: "question", players: 2 },
    },
  },
  "message.ephemeral": {
    ...head(
      "message.ephemeral",
      "evt_01KE6QW85ZNP3EB3TXY9PD4JNW",
      1_767_605_412_031_507,
      "2026-01-05T09:30:12.031Z",
      "2026-01-05T09:31:12.031Z",
    ),
    channel: "general",
    user: GRACE.id,
    message: {
      id: "msg_01KE6QW85Z0EG6BDNKFFNW3ZSD",
      kind: "card",
      text: "You are in. The first question comes when the game starts.",
      buttons: [],
      image: null,
      awaitsReply: false,
      data: null,
    },
  },
  "dm.create": {
    ...head(
      "dm.create",
      "evt_01KE6QXQ2A9JDER1MM6734DKBV",
      1_767_605_460_042_218,
      "2026-01-05T09:31:00.042Z",
      "2026-01-05T09:41:00.042Z",
    ),
    user: ADA.id,
    message: {
      id: PROMPT_ID,
      kind: "card",
      text: "**Which topic would you like?** Type it here.",
      buttons: [],
      image: null,
      awaitsReply: true,
      data: null,
    },
  },
  ping: head(
    "ping",
    "evt_01KE6QYMAQHG2YE5EBECCM5K93",
    1_767_605_490_007_931,
    "2026-01-05T09:31:30.007Z",
    "2026-01-05T09:32:30.007Z",
  ),
} as const satisfies {
  readonly [Type in OutboundType]: { readonly type: Type; readonly [field: string]: unknown };
};

/** Two example answers to polls of the workspace: a page with a held event, and a page without new events. */
export const PAGE_EXAMPLES = {
  events: {
    events: [OUTBOUND_EXAMPLES["message.ephemeral"]],
    next: String(OUTBOUND_EXAMPLES["message.ephemeral"].sequence),
    hasMore: false,
    gap: false,
  },
  "no-new-events": {
    events: [],
    next: String(OUTBOUND_EXAMPLES["message.ephemeral"].sequence),
    hasMore: false,
    gap: false,
  },
} as const;

/** The signature of the page `events`, as JSON without spaces, with the secret `example-secret`. */
export const PAGE_SIGNATURE =
  "t=1767605492,v1=93d59015d33896f56b68795ed2bff21f5c5f124bb2b44b8966532edc867611fe";
