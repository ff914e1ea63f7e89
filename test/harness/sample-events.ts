import type { EventHead, Message, OutboundEvent } from "../../kit/events";

/** The workspace of the sample events. The events are plain JSON objects, as the service sends them. */
export const WORKSPACE = "0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11";

export function head(number = 1): Omit<EventHead, "type"> {
  return {
    id: `evt_${String(number).padStart(26, "0")}`,
    workspace: WORKSPACE,
    sequence: 1_700_000_000_000_000 + number,
    createdAt: "2026-01-01T00:00:00.000Z",
    expiresAt: null,
  };
}

export function message(number = 1): Message {
  const id = `msg_${String(number).padStart(26, "0")}`;
  const text = `text ${number}`;
  return { id, kind: "card", text, buttons: [], image: null, awaitsReply: false, data: null };
}

const IN_C1 = { channel: "c1" };

export function create(number = 1, change: Partial<EventHead> = {}): OutboundEvent {
  return { ...head(number), ...change, ...IN_C1, type: "message.create", message: message(number) };
}

export const ONE_OF_EACH: Readonly<Record<OutboundEvent["type"], OutboundEvent>> = {
  "message.create": create(1),
  "message.update": { ...head(2), ...IN_C1, type: "message.update", message: message(1) },
  "message.ephemeral": { ...head(3), ...IN_C1, type: "message.ephemeral", user: "u1", message: message(3) },
  "dm.create": { ...head(4), type: "dm.create", user: "u1", message: message(4) },
  ping: { ...head(5), type: "ping" },
};
