import { MessageKind } from "../proto/gen/chatbridge/v1/event";
import { OutboundEvent } from "../proto/gen/chatbridge/v1/game";

/**
 * An inbound event of about 150 bytes, as a bridge would send it when a member
 * answers. All have one length; the number is in the id and in the text, which
 * makes each the only one of its kind.
 */
export function typedMessage(run: string, number: number): string {
  const n = String(number).padStart(9, "0");
  const member = n.slice(-4);
  return `{"type":"message","id":"req-${run}-${n}","channel":"C0${member}","user":{"id":"U0${member}","name":"Member ${member}"},"text":"my answer is ${n}"}`;
}

/** A typical outbound event: a card with a button, whose envelope has about 450 bytes. All have one length. */
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
