import { MessageKind } from "../proto/gen/chatbridge/v1/event";
import { OutboundEvent } from "../proto/gen/chatbridge/v1/game";

/**
 * Returns an inbound event of about 150 bytes, like those that bridges send when
 * members answer. All events have the same length. The id and the text contain `number`, so no two events are equal.
 */
export function typedMessage(run: string, number: number) {
  const n = String(number).padStart(9, "0");
  const member = n.slice(-4);
  return {
    type: "message",
    id: `req-${run}-${n}`,
    channel: `C0${member}`,
    user: { id: `U0${member}`, name: `Member ${member}` },
    text: `my answer is ${n}`,
  };
}

/**
 * Returns an inbound event like those that bridges send when members press a button. Each number stands for the press
 * of another member. All events have the same length.
 */
export function pressedButton(run: string, number: number) {
  const n = String(number).padStart(9, "0");
  const member = n.slice(-4);
  return {
    type: "action",
    id: `req-${run}-${n}`,
    channel: "general",
    user: { id: `U0${member}`, name: `Member ${member}` },
    messageId: "evt_01KE6QWT743GR6H13HZYJ5G5M8",
    action: "join:10.1767605400114-0",
  };
}

/** Returns a typical outbound event: a card with a button, about 450 bytes as JSON. All events have the same length. */
export function cardEvent(workspaceId: string, number: number): OutboundEvent {
  const n = String(number).padStart(9, "0");
  return OutboundEvent.create({
    workspaceId,
    content: {
      $case: "messageCreate",
      value: {
        channel: `C0${n.slice(-4)}`,
        message: {
          kind: MessageKind.CARD,
          text: `**Round ${n}** is over.\n_Well played!_ Another one?`,
          rows: [{ buttons: [{ label: "Again", press: { $case: "action", value: `again:${n}` } }] }],
        },
      },
    },
  });
}
