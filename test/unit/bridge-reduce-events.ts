import type {
  DmCreate,
  EventHead,
  Message,
  MessageCreate,
  MessageEphemeral,
  MessageUpdate,
  Ping,
} from "../../bridge/events";

/** When the tests' events are made, ms since the epoch. */
export const START_MS = Date.UTC(2025, 0, 2);

/** What a test says of an event; times are ms after the start. */
export interface EventSketch {
  readonly sequence: number;
  readonly messageId?: string;
  readonly text?: string;
  readonly expiresAtMs?: number;
}

export function create(channel: string, sketch: EventSketch): MessageCreate {
  return { ...headOf(sketch), type: "message.create", channel, message: messageOf(sketch) };
}

export function dm(user: string, sketch: EventSketch): DmCreate {
  return { ...headOf(sketch), type: "dm.create", user, message: messageOf(sketch) };
}

export function update(channel: string, sketch: EventSketch): MessageUpdate {
  return { ...headOf(sketch), type: "message.update", channel, message: messageOf(sketch) };
}

export function ephemeral(channel: string, sketch: EventSketch): MessageEphemeral {
  const head = headOf(sketch);
  return { ...head, type: "message.ephemeral", channel, user: "u1", message: messageOf(sketch) };
}

export function ping(sketch: EventSketch): Ping {
  return { ...headOf(sketch), type: "ping" };
}

function headOf({ sequence, expiresAtMs }: EventSketch): Omit<EventHead, "type"> {
  return {
    id: `evt_${sequence}`,
    workspace: "11111111-2222-4333-8444-555555555555",
    sequence,
    createdAt: new Date(START_MS).toISOString(),
    expiresAt: expiresAtMs === undefined ? null : new Date(START_MS + expiresAtMs).toISOString(),
  };
}

function messageOf({ sequence, messageId, text }: EventSketch): Message {
  return {
    id: messageId ?? `msg_${sequence}`,
    kind: "card",
    text: text ?? `text ${sequence}`,
    buttons: [],
    image: null,
    awaitsReply: false,
    data: null,
  };
}
